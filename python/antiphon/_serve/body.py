"""The body of a request: read within its limits, and checked."""

from __future__ import annotations

import asyncio
import base64
import json
import math
from typing import TYPE_CHECKING, Any, NoReturn

from antiphon.content import File, Image
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request

_BODY_TIMEOUT_S = 30
"""Seconds that a body may take to arrive."""
_PARTS = {
    "text": {"text"},
    "image": {"url", "base64", "mime_type"},
    "file": {"filename", "base64", "text", "mime_type"},
    "data": {"value"},
}
"""The kinds of content parts, and their keys."""
_DEEPEST = 100
"""Levels of objects and lists in a body."""


async def read_object(request: Request, largest: int, known: set[str]) -> dict[str, Any]:
    """The JSON object of a request.

    Args:
        request: whose body has not been read.
        largest: bytes that it may have.
        known: the keys that it may have.

    Raises:
        ValidationError: it is not called JSON, is none or no object, has other keys, or takes
            too long (``request_invalid``), or is too large (``request_too_large``).
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        _refuse(415, "the content type must be `application/json`", kind)
    try:
        async with asyncio.timeout(_BODY_TIMEOUT_S):
            body = await _read(request, largest)
    except TimeoutError:
        _refuse(408, "the body took too long, in seconds", str(_BODY_TIMEOUT_S))
    try:
        found = json.loads(body.decode(), parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        _refuse(400, "the body is not JSON", type(error).__name__)
    if _is_deep(found):
        _refuse(422, "the body nests too deeply, in levels", f"more than {_DEEPEST}")
    if not isinstance(found, dict):
        _refuse(400, "the body must be a JSON object", type(found).__name__)
    if unknown := sorted(found.keys() - known):
        _refuse(422, "the body has a key that is not known", repr(unknown[0][:60]), known)
    return found


def read_question(given: dict[str, Any], *, takes_parts: bool) -> Any:
    """The question of a request: a text, or a list of content parts.

    A dict would be the state of a team, which no client sets.

    Raises:
        ValidationError: it is neither (``request_invalid``), or a part cannot be used
            (``content_invalid``).
    """
    question = given.get("question")
    if isinstance(question, str):
        return question
    if not takes_parts:
        _refuse(422, "`question` must be a text", type(question).__name__)
    if not isinstance(question, list) or not question:
        _refuse(422, "`question` must be a text, or a list of parts", type(question).__name__)
    return [_part(one) for one in question]


async def _read(request: Request, largest: int) -> bytes:
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > largest:
        raise _too_large(largest)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > largest:
            raise _too_large(largest)
    return bytes(body)


def _part(given: Any) -> Any:
    """A part as Python has it. No path of a file is ever one: it would be read here."""
    if isinstance(given, str):
        return given
    kind = given.get("type") if isinstance(given, dict) else None
    if not isinstance(kind, str) or kind not in _PARTS:
        _refuse(422, "a part is a text, or an object whose `type` is text, image, file or data")
    if unknown := sorted(given.keys() - _PARTS[kind] - {"type"}):
        _refuse(422, f"a part of type {kind} has an unknown key", repr(unknown[0][:60]))
    if kind == "data":
        return {"type": "data", "value": given.get("value")}
    if wrong := [key for key, value in given.items() if not isinstance(value, str)]:
        _refuse(422, f"`{wrong[0]}` of a part must be a text", type(given[wrong[0]]).__name__)
    if kind == "text":
        return str(given.get("text", ""))
    return _image(given) if kind == "image" else _file(given)


def _image(given: dict[str, str]) -> Image:
    # `mime_type`, which images in states and results have, is accepted; the bytes decide.
    url = given.get("url")
    if url is None:
        return Image(_bytes(given))
    if not url.startswith("https://"):
        _refuse(422, "the address of an image must begin with `https://`")
    return Image(url)


def _file(given: dict[str, str]) -> File:
    data = given["text"].encode(errors="replace") if "text" in given else _bytes(given)
    return File(data, name=given.get("filename") or "file", mime_type=given.get("mime_type"))


def _bytes(given: dict[str, str]) -> bytes:
    if "base64" not in given:
        _refuse(422, f"a part of type {given['type']} needs `base64`")
    try:
        return base64.b64decode(given["base64"], validate=True)
    except ValueError:
        _refuse(422, "`base64` of a part is none")


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _is_deep(value: Any) -> bool:
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        level = [part for one in level for part in _parts(one)]
        if not level:
            return False
    return True


def _parts(value: Any) -> Iterable[Any]:
    """What an object or a list holds."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _too_large(largest: int) -> ValidationError:
    return ValidationError(
        f"the body is larger than this server accepts, in bytes: {largest}",
        code="request_too_large",
        hint="send less, or have the server started with a larger `--max-body`",
    )


def _refuse(
    status: int, complaint: str, found: str | None = None, known: set[str] | None = None
) -> NoReturn:
    raise ValidationError(
        complaint if found is None else f"{complaint}: {found or 'none'}",
        code="request_invalid",
        details={"status": status},
        hint=None if known is None else f"the keys are {', '.join(sorted(known))}",
    )
