"""Pictures that code in a sandbox drew."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["SandboxFigure"]


@dataclass(frozen=True, slots=True, repr=False)
class SandboxFigure:
    """A picture that the code drew; a notebook shows it.

    Attributes:
        png: the picture as a PNG file.
    """

    png: bytes

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        # The engine has checked signature and header.
        return int.from_bytes(self.png[16:20], "big"), int.from_bytes(self.png[20:24], "big")

    def save(self, path: str | PathLike[str]) -> Path:
        """Writes the PNG file.

        Args:
            path: where; what stands there is replaced.

        Returns:
            The path.
        """
        target = Path(path)
        target.write_bytes(self.png)
        return target

    def __repr__(self) -> str:
        width, height = self.size
        return f"SandboxFigure({width} x {height}, {len(self.png):,} bytes)"

    def _repr_png_(self) -> bytes:
        return self.png
