"""How objects become plain values, and plain values objects, and which types may do so.

What an `unpack` function gets may have been forged: it must not allocate by a number it is given,
and must not look anything up by name except in a table of its own.
"""
