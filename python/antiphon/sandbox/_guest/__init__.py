"""What runs in the sandbox's worker, beside the code of the user.

These files need the standard library alone and import nothing of antiphon: a worker loads
them by path, before it is locked in. From the moment that foreign code has run, nothing here
can be trusted any more. What holds is outside: the jail, and the host's own checks.
"""
