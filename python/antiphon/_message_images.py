"""The images of the messages of a result, as static HTML."""

from __future__ import annotations

import base64
import binascii
from html import escape
from typing import TYPE_CHECKING, Any

from antiphon._content import read_parts
from antiphon._html import SMALL, rendered
from antiphon.content import Image
from antiphon.errors import StateError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["message_images"]

_MOST = 8
"""Images that are shown."""
_LARGEST = 4 << 20
"""Bytes of all images that are shown; a notebook stores them in base64."""


def message_images(messages: Iterable[Any]) -> Iterator[str]:
    """Elements with the images of messages, each under the name of who sent it.

    Only PNG, JPEG, GIF and WebP are shown, by their bytes. Images at addresses are not: loading
    them would tell their hosts that the result is being read.
    """
    shown = left_out = size = 0
    for sender, image in _images(messages):
        size += len(image.data)
        if shown == _MOST or size > _LARGEST:
            left_out += 1
            continue
        shown += 1
        yield f'<div style="{SMALL}">image from {escape(sender)}</div>{rendered(image)}'
    if left_out:
        more = f"and {left_out} more images in <code>result.messages</code>"
        yield f'<div style="{SMALL}">{more}</div>'


def _images(messages: Iterable[Any]) -> Iterator[tuple[str, Image]]:
    for message in messages:
        is_dict = isinstance(message, dict)
        fields = message if is_dict else getattr(message, "__dict__", {})
        content = fields.get("content")
        sender = str(fields.get("name") or fields.get("role") or fields.get("type") or "")
        for part in content if isinstance(content, list) else ():
            image = _image(part)
            if image is not None:
                yield sender, image


def _image(part: Any) -> Image | None:
    if not isinstance(part, dict) or part.get("type") not in {"image", "image_url"}:
        return None
    try:
        blocks = read_parts([part])
        data = None if isinstance(blocks, str) else blocks[0].get("base64")
        return None if data is None else Image(base64.b64decode(data, validate=True))
    except (StateError, ValidationError, binascii.Error):
        return None
