"""Events as they happen: one line each, live views, loggers."""
