"""Stores of threads, durability, and names of threads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from antiphon._antiphon import MemorySaver, PostgresSaver, Saver, SqliteSaver, ThreadRef
from antiphon._text import well_formed
from antiphon.errors import AntiphonError, ValidationError

if TYPE_CHECKING:
    from antiphon._serialization.registry import Registry


Durability = Literal["sync", "async", "exit"]
"""When a superstep is durable. ``sync``: before the next begins. ``async``: while the next runs, in
order, and before the run ends or pauses; a killed process loses its pending commits, at most
about 1,024 or 16 MiB. ``exit``: when the run ends, fails or pauses.
"""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_PATH = re.compile(r"[\w./ -]+")
_LONGEST = 512
"""Characters of a thread's name."""


@dataclass(frozen=True, slots=True)
class ThreadStore:
    """A store of threads with its settings.

    Attributes:
        saver: the store.
        durability: when a superstep is durable.
        registry: the types that it may hold. Default: the registered ones.
    """

    saver: Saver
    durability: Durability | None
    registry: Registry | None = None

    def ref(
        self, thread: str, checkpoint: int | None = None, *, as_node: str | None = None
    ) -> ThreadRef:
        """Return a thread, or one of its checkpoints; `as_node` for a write on behalf of a node."""
        return ThreadRef(
            self.saver,
            thread,
            registry=self.registry,
            checkpoint=checkpoint,
            durability=self.durability if as_node is None else "sync",
            as_node=as_node,
        )


def check_durability(given: Any, code: str) -> Durability:
    """Return a valid durability; raise `ValidationError` with `code` for other values."""
    if given in get_args(Durability):
        return cast("Durability", given)
    raise ValidationError(f"`durability` must be sync, async or exit: {given!r}", code=code)


def read_saver(checkpointer: Any, durability: Any, code: str) -> Saver | None:
    """Return the saver of a team or a system, if it has one; see `saver_of`.

    Raises:
        ValidationError: the checkpointer is neither a saver nor the URL of one, or the durability
            is unknown, or is not ``async`` and there is no checkpointer (`code`).
    """
    check_durability(durability, code)
    try:
        saver = saver_of(checkpointer)
    except (TypeError, ValueError) as error:
        if isinstance(error, AntiphonError):
            raise
        raise ValidationError(str(error), code=code) from None
    if saver is None and durability != "async":
        raise ValidationError(
            f"`durability` requires a `checkpointer`: {durability}",
            code=code,
            hint='add one: `checkpointer="sqlite:runs.db"`',
        )
    return saver


def saver_of(given: Any) -> Saver | None:
    """Return a saver, given itself or as ``memory:``, ``sqlite:<path>`` or ``postgres://…``.

    Raises:
        ValueError: no store has this URL, which is not quoted: it may contain a password.
        TypeError: it is neither a saver nor text.
        Exception: those of `SqliteSaver.open` and `PostgresSaver.open`.
    """
    if given is None or isinstance(given, Saver):
        return given
    if not isinstance(given, str):
        kind = type(given).__name__
        raise TypeError(f"`checkpointer` takes a saver of antiphon.checkpoint or a URL: {kind}")
    scheme, colon, path = given.partition(":")
    if scheme == "memory" and colon and not path:
        return MemorySaver()
    if scheme == "sqlite" and path:
        return SqliteSaver.open(given)
    if scheme in {"postgres", "postgresql"} and path:
        return PostgresSaver.open(given)
    named = _SCHEME.match(given)
    found = named[0] if named else "no scheme"
    # A plain path cannot hold a password.
    url = "memory:" if given == "memory" else f"sqlite:{given}"
    meant = f'; did you mean "{url}"?' if _PATH.fullmatch(given) else ""
    raise ValueError(
        "a checkpointer's URL is `memory:`, `sqlite:` and a file, or `postgres://` and a database,"
        f" found: {found}{meant}"
    )


def thread_name(given: Any) -> str:
    """Return a valid name of a thread.

    Raises:
        ValidationError: it is not text, blank, too long, or contains characters that stores
            refuse (``thread_invalid``).
    """
    if not isinstance(given, str):
        raise _refusal(f"a thread's name must be a string: {type(given).__name__}")
    if not given.strip():
        raise _refusal(f"a thread's name is blank: {given!r}")
    if len(given) > _LONGEST:
        raise _refusal(f"a thread's name takes at most {_LONGEST} characters, found: {len(given)}")
    if "\0" in given or well_formed(given) != given:
        raise _refusal(f"a thread's name contains a NUL or an unpaired surrogate: {given!r}")
    return given


def fresh_name() -> str:
    """Return a unique name."""
    import uuid

    return str(uuid.uuid4())


def _refusal(message: str) -> ValidationError:
    return ValidationError(message, code="thread_invalid", hint="pass a short string")
