"""What the engine costs: `python -m tests.bench` (see `__main__.py`)."""
