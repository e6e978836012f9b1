"""``antiphon doctor`` and ``antiphon models``: what this machine offers."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
from typing import TYPE_CHECKING, Any

import antiphon
from antiphon import local
from antiphon._cli.exit_codes import Exit
from antiphon._cli.store import STORE, open_store
from antiphon._cli.terminal import write
from antiphon._model.default_model import PROVIDERS, choose
from antiphon._text import drop_controls
from antiphon.errors import AntiphonError, ValidationError
from antiphon.sandbox.engines import report_engines

if TYPE_CHECKING:
    from collections.abc import Iterator


def doctor(*, as_json: bool) -> Exit:
    """Reports what this machine offers; keys and passwords are never shown."""
    found = _findings()
    if as_json:
        write(json.dumps(found, ensure_ascii=False))
    else:
        write(drop_controls("\n".join(_lines(found))))
    return Exit.ANSWERED


def models() -> Exit:
    """Lists local models and providers, and the default; keys are never shown."""
    runs = importlib.util.find_spec("xllamacpp") is not None
    lines = ["on this machine" + ("" if runs else ' (needs `pip install "antiphon[local]"`)')]
    for model in local.CATALOG:
        size = model.name.rpartition(":")[2]
        state = "cached" if local.cached(model.name) else f"{model.size / 1e6:.0f} MB download"
        lines.append(f"  local:{size:<24}{state:<18}{model.title}")
    lines.append("providers")
    for variable, name in PROVIDERS.items():
        state = "set" if os.environ.get(variable, "").strip() else "not set"
        lines.append(f"  {name:<30}{state:<18}{variable}")
    lines.append(f"default: {_default()}")
    write(drop_controls("\n".join(lines)))
    return Exit.ANSWERED


def _default() -> str:
    try:
        return choose(None, os.environ).description
    except ValidationError as error:
        return f"none ({error.message})"


def _findings() -> dict[str, Any]:
    return {
        "antiphon": antiphon.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "sandbox": report_engines(),
        "model": _model(),
        "store": _store(),
    }


def _model() -> dict[str, Any]:
    try:
        choice = choose(None, os.environ)
    except ValidationError as error:
        name, reason = None, error.message
    else:
        name, reason = choice.name, choice.reason
    return {
        "without_a_name": name,
        "reason": reason,
        "runs_here": importlib.util.find_spec("xllamacpp") is not None,
        "cached": [one.name for one in local.CATALOG if local.cached(one.name)],
    }


def _store() -> dict[str, Any]:
    """Whether the store of the environment can be opened; its address may hold a secret."""
    if not os.environ.get(STORE, "").strip():
        return {"named": False, "opens": None}
    try:
        open_store(None).close()
    except AntiphonError as error:
        return {"named": True, "opens": False, "problem": error.message}
    return {"named": True, "opens": True}


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield f"antiphon {found['antiphon']}, Python {found['python']}, {found['system']}"
    yield "sandbox"
    for engine in found["sandbox"]["engines"]:
        yield from _engine_lines(engine)
    auto = found["sandbox"]["auto"]
    yield f"  `auto` selects: {auto}" if auto else "  `auto` finds no engine"
    if found["sandbox"].get("landlock_only"):
        yield "  `process` would run with `i_accept_landlock_only=True`, a weaker isolation"
    yield "model"
    model = found["model"]
    yield f"  default: {model['without_a_name'] or 'none'} ({model['reason']})"
    runs = "yes" if model["runs_here"] else 'no (pip install "antiphon[local]")'
    yield f"  local models can run: {runs}"
    yield f"  downloaded: {', '.join(model['cached']) or 'none'}"
    yield "store"
    yield f"  {STORE}: {_store_line(found['store'])}"


def _engine_lines(engine: dict[str, Any]) -> Iterator[str]:
    verdict = f"yes, {engine['isolation']}" if engine["ok"] else "no"
    version = f" ({engine['version']})" if engine["version"] else ""
    yield f"  {engine['engine']:<12}{verdict}{version}"
    for layer, state in sorted(engine["layers"].items()):
        yield f"    {layer:<14}{_word(state)}"
    for missing in engine["missing"]:
        yield f"    missing: {missing}"


def _word(state: Any) -> str:
    return str(state) if not isinstance(state, bool) else "yes" if state else "no"


def _store_line(store: dict[str, Any]) -> str:
    if not store["named"]:
        return "not set"
    return "opens" if store["opens"] else f"cannot be opened: {store['problem']}"
