"""The engine `monty`: a subset of Python, in worker processes of `pydantic-monty`."""
