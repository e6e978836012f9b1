"""``antiphon systems``: the ready systems, or one of them with its roles and settings."""

from __future__ import annotations

import json
from dataclasses import asdict
from inspect import signature
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from antiphon._cli.exit_codes import Exit
from antiphon._cli.terminal import write
from antiphon.systems import SystemInfo, find
from antiphon.systems import systems as known_systems

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from antiphon.systems import System


_SHOWN = 32
"""Characters of a default that are shown."""


def systems(options: argparse.Namespace) -> Exit:
    """Lists all systems, or describes the named one.

    Raises:
        ValidationError: the name is unknown (``system_unknown``).
    """
    known = known_systems()
    if options.name is None:
        shown: Any = [asdict(info) for info in known.values()]
        lines = _columns((_option(info.name), info.description) for info in known.values())
    else:
        info = known[find(options.name.replace("-", "_")).name]
        shown, lines = asdict(info), _description(info)
    write(json.dumps(shown, ensure_ascii=False) if options.json else "\n".join(lines))
    return Exit.ANSWERED


def other_systems(accepts: Callable[[type[System[Any]]], bool]) -> str:
    """The hint that names the systems which accept an option.

    Args:
        accepts: whether a system accepts it.
    """
    names = (_option(name) for name in known_systems() if accepts(find(name)))
    return f"use another system: {', '.join(names)}"


def _description(info: SystemInfo) -> Iterator[str]:
    yield info.description
    yield "\nroles"
    yield from _columns((f"  {name}", about) for name, about in info.roles.items())
    yield "\nsettings (--set KEY=VALUE)"
    fields = info.config_schema.get("properties", {})
    yield from _columns((f"  {name}", _about(field)) for name, field in fields.items())
    yield "\nprompts"
    yield f"  {', '.join(info.prompts)}"
    database = " --db PATH" if "database" in signature(find(info.name)).parameters else ""
    yield f'\nantiphon ask --system {_option(info.name)}{database} "…"'


def _columns(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    table = list(rows)
    width = max((len(name) for name, _ in table), default=0)
    return (f"{name:<{width}}  {about}".rstrip() for name, about in table)


def _option(name: str) -> str:
    """The name as options of the command line spell it."""
    return name.replace("_", "-")


def _about(field: Mapping[str, Any]) -> str:
    about = " ".join(str(field.get("description", "")).split()).removesuffix(".")
    if "by default" in about:
        return about
    default = shorten(
        json.dumps(field.get("default"), ensure_ascii=False), _SHOWN, placeholder=" …"
    )
    return f"{about} (default: {default})"
