"""The code of the sandbox's workers.

These files need only the standard library and import nothing of antiphon: a worker loads them by
path, before it is locked in. Once untrusted code has run in the process, nothing in it can be
trusted: security depends on the jail and on the host's own validation.
"""
