"""Conversion of objects to stored plain values and back, and the registry of storable types.

The input of an `unpack` function may be forged: it must not allocate by a number in it, nor look
up a name in it outside of its table.
"""
