"""The resource limits of code in a sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Unpack

__all__ = ["LimitTable", "Limits"]

_DATA = frozenset(
    ["matplotlib", "numpy", "pandas", "polars", "pyarrow", "scikit-learn", "scipy", "statsmodels"]
)
"""Packages with a higher default of `memory`."""


class LimitTable(TypedDict, total=False):
    """The limits by name; see `Limits`."""

    wall: float | None
    cpu: float | None
    memory: int | None
    stdout: int | None
    stderr: int | None
    value: int | None
    locals: int | None
    tables: int | None
    figures: int | None
    host_calls: int | None
    scratch: int | None
    files: int | None
    source: int | None


class Limits:
    """The resource limits of code in a sandbox; ``None`` stands for the maximum.

    Args:
        **given: limits by name; the others have their defaults.

            - ``wall``: seconds from start to end, including calls of tools. 5; at most 300.
            - ``cpu``: seconds of CPU time. ``wall`` plus one; at most 301.
            - ``memory``: bytes in addition to those of a fresh worker. 256 MiB, with data
              packages 512 MiB; at most 8 GiB.
            - ``stdout``, ``stderr``: bytes of each that are returned. 256 KiB; at most 16 MiB.
            - ``value``: bytes of the value as JSON. 1 MiB; at most 16 MiB.
            - ``locals``: bytes of all variables as JSON. 1 MiB; at most 16 MiB.
            - ``tables``: bytes of each table as Arrow. 64 MiB; at most 1 GiB.
            - ``figures``: bytes of each figure as PNG. 5 MiB; at most 64 MiB.
            - ``host_calls``: calls of tools. 1,000; at most 100,000.
            - ``scratch``: bytes of the files that the code writes. 16 MiB; at most 1 GiB.
            - ``files``: open files. 64; at most 1,024.
            - ``source``: bytes of the code. 256 KiB; at most 1 MiB.

    Raises:
        ValidationError: a name is unknown, or a value is not a number between zero and its
            maximum (``sandbox_limit_invalid``).

    Example:
        >>> Limits(wall=2, memory=64 * 2**20)
        Limits(wall=2, memory=67108864)
        >>> Limits().complete()["host_calls"]
        1000
    """

    def __init__(self, **given: Unpack[LimitTable]) -> None:
        self._given: dict[str, Any] = dict(given)
        self.complete()

    def complete(self, packages: Iterable[str] = ()) -> dict[str, Any]:
        """Return all limits by name.

        Args:
            packages: the packages of the sandbox; some raise the default of ``memory``.
        """
        from antiphon._antiphon import sandbox_limits

        table: dict[str, Any] = sandbox_limits(self._given, data=not _DATA.isdisjoint(packages))
        return table

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Limits) and self._given == other._given

    def __hash__(self) -> int:
        return hash(frozenset(self._given.items()))

    def __repr__(self) -> str:
        return f"Limits({', '.join(f'{name}={value}' for name, value in self._given.items())})"
