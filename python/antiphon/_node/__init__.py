"""What code can do within a node: calls that are made once, approvals, questions to people."""
