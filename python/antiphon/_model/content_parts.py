"""Content in parts, as functions and LangChain models return and take it."""

from __future__ import annotations

import base64
import binascii
import json
import re
from html import escape
from typing import Any

from antiphon._content import read_parts
from antiphon.content import Image
from antiphon.errors import ModelOutputError, StateError, ValidationError

__all__ = ["chat_text_and_media", "list_text_and_media", "reply_sent_back", "sent_content"]

_MEDIA = {"image", "image_url", "file"}
_ADDRESS_CHARS = 200
"""Characters of an address that a text names."""


def list_text_and_media(reply: Any) -> tuple[str, list[dict[str, Any]]]:
    """The text, and the other parts, of a list of parts that a function returns.

    Raises:
        ModelOutputError: a part is of no known kind (``model_reply_malformed``).
    """
    try:
        parts = read_parts(reply)
    except StateError as error:
        raise ModelOutputError(
            f"the parts of a reply cannot be read: {error.message}",
            code="model_reply_malformed",
            hint='return for instance `["Here it is.", antiphon.Image("plot.png")]`',
        ) from error
    if isinstance(parts, str):
        return parts, []
    texts = [part["text"] for part in parts if part["type"] == "text"]
    return "\n".join(texts), [_kept(part) for part in parts if part["type"] != "text"]


def chat_text_and_media(content: Any) -> tuple[str, list[dict[str, Any]]]:
    """The text, and the images and files, of the content of a LangChain message."""
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    media: list[dict[str, Any]] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif part.get("type") in _MEDIA:
            media.append(_medium(part))
        else:
            texts.append(part.get("text") or "")
    return "".join(texts), media


def sent_content(content: Any) -> Any:
    """The content of a message as LangChain takes it: data, and files of text, are texts."""
    if isinstance(content, str):
        return content
    return [part if _is_medium(part) else _text(_part_text(part)) for part in content]


def reply_sent_back(content: Any) -> tuple[str, list[dict[str, Any]]]:
    """An earlier reply as providers take it back: its text, and its images for the user's message.

    Providers take no images from the assistant.
    """
    if isinstance(content, str):
        return content, []
    lines, media = [], []
    for place, part in enumerate(content, 1):
        if _is_medium(part):
            lines.append(f"[part {place} of your reply: see below]")
            media += [_text(f"[part {place} of your reply]"), part]
        else:
            lines.append(_part_text(part))
    return "\n".join(lines), media


def _is_medium(part: dict[str, Any]) -> bool:
    return part["type"] == "image" or (part["type"] == "file" and "text" not in part)


def _part_text(part: dict[str, Any]) -> str:
    if part["type"] == "data":
        return json.dumps(part["value"], ensure_ascii=False)
    if part["type"] != "file":
        return str(part["text"])
    # No line of the file can close the tag.
    inner = re.sub(r"</(?=\s*file)", "&lt;/", part["text"], flags=re.IGNORECASE)
    name = escape(part.get("filename") or "file").replace("\n", " ")
    return f'<file name="{name}">\n{inner}\n</file>'


def _medium(part: dict[str, Any]) -> dict[str, Any]:
    try:
        read = read_parts([part])
    except StateError as error:
        return _text(f"[a part that cannot be read: {error.message}]")
    return _text(read) if isinstance(read, str) else _kept(read[0])


def _kept(part: dict[str, Any]) -> dict[str, Any]:
    """A part as a message keeps it, or a text that says why it is not kept.

    Nothing is loaded: a reply that could have an address loaded could reach any host.
    """
    kind = part["type"]
    noun = f"a{'n' if kind == 'image' else ''} {kind}"
    if "url" in part:
        return _text(f"[{noun} that is not loaded: {part['url'][:_ADDRESS_CHARS]}]")
    if "base64" not in part:
        return part
    try:
        data = base64.b64decode(part["base64"], validate=True)
        return Image(data).to_dict() if kind == "image" else part
    except binascii.Error:
        return _text(f"[{noun} whose base64 is malformed]")
    except ValidationError as error:
        return _text(f"[{error.message}]")


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
