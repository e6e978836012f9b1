"""Settings of built-in tools that are lists, checked before a family is opened."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from antiphon._antiphon import tool_families
from antiphon.errors import ValidationError

_ALLOWED = ("loopback", "private")
"""Entries of `allow` that are no hosts."""
_MEDIA_TYPES = {
    "csv": "text/csv",
    "gif": "image/gif",
    "html": "text/html",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "json": "application/json",
    "pdf": "application/pdf",
    "png": "image/png",
    "txt": "text/plain",
    "xml": "application/xml",
    "zip": "application/zip",
}
"""What is meant by the ending of a file."""


def plain_lists(family: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, those that are lists as JSON lists.

    Raises:
        ValidationError: one is a single value, or holds an unknown name
            (``tool_setting_invalid``).
    """
    lists = _lists(family)
    found = {
        name: listed(name, value) if name in lists else value for name, value in settings.items()
    }
    for entry in found.get("allow", ()):
        _check_allowed(entry)
    for entry in found.get("types", ()):
        _check_media_type(entry)
    return found


@functools.cache
def _lists(family: str) -> frozenset[str]:
    """The names of the settings of a family that are lists."""
    schemas = {one["name"]: one["settings_schema"] for one in tool_families()}
    fields = schemas.get(family, {}).get("properties", {})
    return frozenset(name for name, schema in fields.items() if "array" in schema.get("type", ()))


def listed(name: str, value: Any) -> list[Any]:
    """A setting as a JSON list.

    Raises:
        ValidationError: it is a single value (``tool_setting_invalid``).
    """
    if isinstance(value, str | bytes | os.PathLike | Mapping) or not isinstance(value, Iterable):
        shown = os.fspath(value) if isinstance(value, os.PathLike) else value
        raise ValidationError(
            f"`{name}` must be a list: {shown!r}",
            code="tool_setting_invalid",
            hint=f"write `{name}=[{shown!r}]`",
        )
    return [_plain(one) for one in value]


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return dict(value) if isinstance(value, Mapping) else value


def _check_allowed(entry: Any) -> None:
    if not isinstance(entry, str) or entry in _ALLOWED:
        return
    near = get_close_matches(entry.partition(":")[0].lower(), _ALLOWED, 1, cutoff=0.75)
    if near and near[0] != entry.partition(":")[0]:
        raise ValidationError(
            f"`allow` has an unknown entry: {entry}",
            code="tool_setting_invalid",
            hint=f"did you mean `{near[0]}`?",
        )


def _check_media_type(entry: Any) -> None:
    if not isinstance(entry, str) or "/" in entry:
        return
    meant = _MEDIA_TYPES.get(entry.lower().lstrip("."))
    raise ValidationError(
        f"`types` has an entry that is no media type: {entry}",
        code="tool_setting_invalid",
        hint=f"did you mean `{meant}`?" if meant else "write for instance `application/pdf`",
    )
