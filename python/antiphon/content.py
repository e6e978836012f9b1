"""Images and files in questions, messages and results of tools.

A message says a text, or a list of parts: texts, `Image`s, `File`s, data frames, and dicts or lists
as data. A tool may return a part, or a list of parts.

Example:
    >>> from antiphon import Agent, models
    >>> plot = Image(bytes.fromhex("89504e470d0a1a0a"))
    >>> agent = Agent(models.scripted(["The axis starts at 20."]))
    >>> agent.run(["What is wrong in this plot?", plot]).answer
    'The axis starts at 20.'
"""

from __future__ import annotations

import base64
import io
import mimetypes
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon._json_values import is_picture
from antiphon.errors import ValidationError

__all__ = ["File", "Image"]

_LIMIT = 20 * 1024 * 1024
"""Bytes of an image or a file, the most that the large providers accept."""
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)
_TEXTS = {"application/json", "application/xml", "application/x-yaml", "application/toml"}
_ADDRESS = ("http://", "https://")


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Image:
    """An image that a model sees: PNG, JPEG, GIF or WebP.

    Args:
        source: the path of a file, its bytes, an ``https:`` address that the model's provider
            loads, a matplotlib figure, a Pillow image, or a figure of a sandbox.

    Attributes:
        mime_type: the media type, such as ``image/png``; ``None`` for an address.
        data: the bytes; empty for an address.
        url: the address; ``None`` for bytes.

    Raises:
        ValidationError: it cannot be read, is none of these kinds, or has more than 20 MiB
            (``content_invalid``).
    """

    mime_type: str | None
    data: bytes
    url: str | None

    def __init__(self, source: Any) -> None:
        address = source if isinstance(source, str) and source.startswith(_ADDRESS) else None
        data = b"" if address else _bytes_of(source)
        kind = None if address else _image_type(data, source)
        for name, value in (("mime_type", kind), ("data", data), ("url", address)):
            object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """The image as a content block, the JSON form in which messages are stored."""
        if self.url is not None:
            return {"type": "image", "url": self.url}
        return {"type": "image", "mime_type": self.mime_type, "base64": _base64(self.data)}

    def __repr__(self) -> str:
        said = self.url or f"{self.mime_type}, {len(self.data):,} bytes"
        return f"Image({said})"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        shown = {} if self.mime_type is None else {self.mime_type: _base64(self.data)}
        return {**shown, "text/plain": repr(self)}


@dataclass(frozen=True, slots=True, init=False, repr=False)
class File:
    """A file that a model reads.

    A file of text (such as CSV, Markdown or source code) reaches every model as text. Others, such
    as a PDF document, are sent as they are to models that accept them.

    Args:
        source: the path of the file, or its bytes.
        name: the name that the model reads. Default: that of the path.
        mime_type: the media type. Default: guessed from the name.

    Attributes:
        name: the name that the model reads.
        mime_type: the media type.
        data: the bytes.

    Raises:
        ValidationError: it cannot be read, has no name, or has more than 20 MiB
            (``content_invalid``).
    """

    name: str
    mime_type: str
    data: bytes

    def __init__(
        self,
        source: str | os.PathLike[str] | bytes,
        *,
        name: str | None = None,
        mime_type: str | None = None,
    ) -> None:
        if name is None and isinstance(source, bytes | bytearray):
            raise _invalid("a file given as bytes needs a name", '`File(data, name="report.pdf")`')
        given = Path(os.fspath(source)).name if name is None else name  # type: ignore[arg-type]
        data = _bytes_of(source)
        guessed = mime_type or mimetypes.guess_type(given)[0] or _guess(data)
        for field, value in (("name", given), ("mime_type", guessed), ("data", data)):
            object.__setattr__(self, field, value)

    def to_dict(self) -> dict[str, Any]:
        """The file as a content block, the JSON form in which messages are stored."""
        block = {"type": "file", "filename": self.name, "mime_type": self.mime_type}
        text = _text_of(self.data) if _is_text(self.mime_type) else None
        if text is not None:
            return {**block, "text": text}
        return {**block, "base64": _base64(self.data)}

    def __repr__(self) -> str:
        return f"File({self.name!r}, {self.mime_type}, {len(self.data):,} bytes)"


def _bytes_of(source: Any) -> bytes:
    if isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
    elif is_picture(source):
        data = _drawn(source)
    elif isinstance(source, str | os.PathLike):
        data = _read(Path(os.fspath(source)))
    else:
        raise _invalid(
            f"an image or a file must be a path or bytes: {type(source).__name__}",
            '`Image("plot.png")`',
        )
    if len(data) > _LIMIT:
        raise _invalid(f"an image or a file has more than 20 MiB: {len(data):,} bytes", None)
    if not data:
        raise _invalid("an image or a file is empty", None)
    return data


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LIMIT + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _invalid(f"the file cannot be read ({reason.lower()}): {path}", None) from error


def _drawn(source: Any) -> bytes:
    png = getattr(source, "png", None)
    if isinstance(png, bytes):
        return png
    written = io.BytesIO()
    if hasattr(source, "savefig"):
        source.savefig(written, format="png", bbox_inches="tight")
    else:
        source.save(written, format="PNG")
    return written.getvalue()


def _image_type(data: bytes, source: Any) -> str:
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    said = source if isinstance(source, str | os.PathLike) else f"{data[:8]!r}…"
    raise _invalid(
        f"an image must be PNG, JPEG, GIF or WebP: {said}",
        "convert it, or attach it with `antiphon.File`",
    )


def _is_text(mime_type: str) -> bool:
    return mime_type.startswith("text/") or mime_type in _TEXTS


def _guess(data: bytes) -> str:
    return "application/octet-stream" if _text_of(data) is None else "text/plain"


def _text_of(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _invalid(message: str, hint: str | None) -> ValidationError:
    return ValidationError(message, code="content_invalid", hint=hint)
