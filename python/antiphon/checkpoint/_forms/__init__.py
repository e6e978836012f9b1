"""How objects become plain values, and plain values objects, one family of types a module.

What `unpack` gets may have been forged: it must not allocate by a number it is given,
and must not look anything up by a name except in a table of its own.
"""
