"""The engine `monty`: a part of Python, in worker processes of `pydantic-monty`."""
