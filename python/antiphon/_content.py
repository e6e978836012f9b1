"""What a message says: a text, or parts of several kinds."""

from __future__ import annotations

import base64
from typing import Any

from antiphon._json_values import (
    ROWS,
    encode_cell,
    encode_result,
    is_picture,
    is_series,
    is_table,
    with_index,
)
from antiphon.content import File, Image
from antiphon.errors import StateError, ToolError, ValidationError


class ContentParts(list[Any]):
    """The parts of a native tool's result: texts, `Image`s, `File`s and data."""


def is_content(value: Any) -> bool:
    """Whether a value is an image, a file or a data frame, or a list with one in it."""
    if isinstance(value, ContentParts):
        return True
    if isinstance(value, list | tuple):
        return any(map(_is_medium_or_frame, value))
    return _is_medium_or_frame(value)


def read_parts(given: Any) -> str | list[dict[str, Any]]:
    """What a message says, in the form in which it is stored and sent.

    Texts alone become one text.

    Raises:
        StateError: a part is of no known kind (``message_invalid``).
    """
    if given is None or isinstance(given, str):
        return given or ""
    parts = _parts(given)
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def text_of(content: Any) -> str:
    """The texts of what a message says, a line each; images and files are named."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(_label(part) for part in content)


def encode_tool_result(value: Any, tool: str) -> Any:
    """Encode the result of a tool as a JSON value: parts as content, other values as data.

    Args:
        value: what the tool returned.
        tool: its name. What cannot be encoded is also logged, because only who wrote the tool can
            change that, while the error goes to a model.

    Raises:
        ToolError: the value, or one inside it, is not supported (``tool_result``).
    """
    try:
        return _encoded(value)
    except ToolError as error:
        import logging

        logging.getLogger(f"antiphon.tool.{tool}").warning("%s; %s", error.message, error.hint)
        raise


def _encoded(value: Any) -> Any:
    if not is_content(value):
        return encode_result(value)
    if isinstance(value, list | tuple) and not isinstance(value, ContentParts):
        value = [part if _has_form(part) else _data(part) for part in value]
    try:
        return {"content": _parts(value)}
    except StateError as error:
        raise ToolError(error.message, code="tool_result", hint=error.hint) from error


def _has_form(part: Any) -> bool:
    """Whether a part of a result has its own form; numbers and records are data."""
    if isinstance(part, dict):
        return isinstance(part.get("type"), str) and part["type"] in _BLOCKS
    return isinstance(part, str) or _is_medium_or_frame(part)


def _data(value: Any) -> dict[str, Any]:
    return {"type": "data", "value": encode_result(value)}


def decode_tool_result(value: Any) -> Any:
    """The result of a native tool: parts become Python values, and other values stay as they are.

    A text becomes a string, an image an `Image`, a file a `File`, and data its value. Several parts
    become a list, which `encode_tool_result` turns into the same parts again.
    """
    listed = value.get("content") if isinstance(value, dict) and len(value) == 1 else None
    if not isinstance(listed, list) or not listed or not all(map(_is_block, listed)):
        return value
    parts = ContentParts(map(_decode_part, listed))
    return parts[0] if len(parts) == 1 else parts


def _is_block(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in {"text", "image", "file", "data"}


def _decode_part(part: dict[str, Any]) -> Any:
    """A content block as a Python value; one that has no such form stays as it is."""
    kind, data = part["type"], part.get("base64")
    if kind == "text":
        return part.get("text", "")
    if kind == "data":
        return part.get("value")
    try:
        if kind == "image":
            address = part.get("url")
            if address is None:
                return Image(base64.b64decode(data or ""))
            # Anything else would be the path of a file on this machine.
            return Image(address) if _is_address(address) else part
        text = part.get("text")
        contents = base64.b64decode(data or "") if text is None else text.encode()
        name = part.get("filename") or "file"
        return File(contents, name=name, mime_type=part.get("mime_type"))
    except (ValidationError, ValueError):
        return part


def _is_address(url: Any) -> bool:
    return isinstance(url, str) and url.startswith(("http://", "https://"))


_BLOCKS = {"text", "image", "image_url", "file", "data"}
"""Types of content blocks that are read."""
_ELSEWHERE = {"tool_use", "tool_call", "thinking", "redacted_thinking", "reasoning"}
"""Blocks of a reply that a message has in other fields, or that no other model reads."""


def _parts(given: Any) -> list[dict[str, Any]]:
    listed = given if isinstance(given, list | tuple) else [given]
    kept = (
        part for part in listed if not (isinstance(part, dict) and part.get("type") in _ELSEWHERE)
    )
    return [_part(part) for part in kept]


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if isinstance(part, Image | File):
        return part.to_dict()
    if is_picture(part):
        return Image(part).to_dict()
    if is_table(part) or is_series(part):
        return {"type": "data", "value": _rows(part)}
    if isinstance(part, dict) and isinstance(part.get("type"), str):
        return _block(part)
    if isinstance(part, dict | list):
        return _data(part)
    raise StateError(
        "a part of a message must be a string, an `Image`, a `File`, a data frame or a dict, "
        f"found: {type(part).__name__}",
        code="message_invalid",
        hint='`["What is wrong in this plot?", antiphon.Image("plot.png")]`',
    )


def _block(block: dict[str, Any]) -> dict[str, Any]:
    """A content block of this package, LangChain, OpenAI or Anthropic."""
    kind = block["type"]
    if kind == "text" and isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    if kind == "data" and "value" in block:
        return _data(block["value"])
    if kind == "image_url":
        address = block.get("image_url")
        return _medium("image", address.get("url") if isinstance(address, dict) else address)
    if kind in {"image", "file"}:
        return _known(block)
    raise StateError(
        f"a part of a message has an unknown type: {kind}",
        code="message_invalid",
        hint="the types are text, image, file and data",
    )


def _known(block: dict[str, Any]) -> dict[str, Any]:
    source = block.get("source") if isinstance(block.get("source"), dict) else block
    assert isinstance(source, dict)  # noqa: S101 - one of the two above
    kind = source.get("mime_type") or source.get("media_type") or source.get("mimeType")
    name = {key: block[key] for key in ("filename",) if isinstance(block.get(key), str)}
    if isinstance(source.get("url"), str):
        return {**_medium(block["type"], source["url"]), **name}
    if isinstance(source.get("text"), str) and block["type"] == "file":
        return {"type": "file", **name, "mime_type": kind or "text/plain", "text": source["text"]}
    data = source.get("base64") or source.get("data")
    if isinstance(data, str) and isinstance(kind, str):
        return {"type": block["type"], **name, "mime_type": kind, "base64": data}
    raise StateError(
        f"a part of type {block['type']} has neither `url` nor `base64` with `mime_type`",
        code="message_invalid",
        hint="`antiphon.Image(...).to_dict()` makes one",
    )


def _medium(kind: str, address: Any) -> dict[str, Any]:
    if not isinstance(address, str):
        raise StateError(
            f"the address of an image must be a string: {type(address).__name__}",
            code="message_invalid",
        )
    head, _, data = address.partition(";base64,")
    if head.startswith("data:") and data:
        return {"type": kind, "mime_type": head.removeprefix("data:"), "base64": data}
    return {"type": kind, "url": address}


def _rows(frame: Any) -> dict[str, Any]:
    """A data frame or series as data: its index, its columns and its first rows."""
    if is_series(frame):
        frame = frame.to_frame()
    shown = with_index(frame.head(ROWS))
    cells = shown.itertuples(index=False) if hasattr(shown, "itertuples") else shown.iter_rows()
    columns = [str(name) for name in shown.columns]
    rows = [[encode_cell(cell) for cell in row] for row in cells]
    return {"row_count": int(frame.shape[0]), "columns": columns, "rows": rows}


def _is_medium_or_frame(value: Any) -> bool:
    is_medium = isinstance(value, Image | File) or is_picture(value)
    return is_medium or is_table(value) or is_series(value)


def _label(part: Any) -> str:
    if isinstance(part, str):
        return part
    if part.get("type") == "text":
        return str(part["text"])
    named = part.get("filename") or part.get("url") or part.get("mime_type")
    return f"[{part.get('type')}: {named}]" if named else f"[{part.get('type')}]"
