"""Models that are not native: functions and LangChain chat models."""
