"""What stands behind a `Tool`: a function read by its hints, or a tool of LangChain's."""
