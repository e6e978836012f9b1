"""What holds for every test."""

import signal

# A shell starts what runs in the background with Ctrl-C ignored, and children inherit that:
# tests that interrupt one would wait for nothing.
signal.signal(signal.SIGINT, signal.default_int_handler)
