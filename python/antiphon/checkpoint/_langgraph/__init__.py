"""LangGraph's checkpoints in antiphon's stores."""
