"""Opening models, and functions and LangChain chat models as models."""
