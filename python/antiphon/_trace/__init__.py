"""How a trace is read from events and shown."""
