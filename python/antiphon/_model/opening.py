"""Opening models by name: of providers, and on this machine."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Model
from antiphon._validation import is_count, is_seconds
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from antiphon.local import LocalServer


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_dict(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, value))


def _is_texts(value: Any) -> bool:
    return _is_dict(value) and all(map(_is_text, value.values()))


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


_SECONDS = ("a number of seconds above zero", is_seconds)
_SETTINGS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "api_key": ("a text", _is_text),
    "base_url": ("a text", _is_text),
    "capabilities": ("a dict", _is_dict),
    "extra_body": ("a dict", _is_dict),
    "headers": ("a dict of texts", _is_texts),
    "idempotency_header": ("a bool", _is_bool),
    "idle_timeout": _SECONDS,
    "max_attempts": ("an integer of at least 1", is_count),
    "max_reply_bytes": ("an integer of at least 1", is_count),
    "timeout": _SECONDS,
}
"""What each setting must be, and whether a value is."""
_NUMBERS = {"idle_timeout", "max_attempts", "max_reply_bytes", "timeout"}
_LOCAL = "local"
_MAX_TOKENS = 512
"""Tokens of one reply of a small model, which may not end by itself."""
_TIMEOUT = 600.0
"""Seconds for one reply on a busy machine."""


def open_any(name: str | Sequence[str | Model], settings: Mapping[str, Any]) -> Model:
    """A model by its name, or the first of several that answers; see `antiphon.models.get`."""
    if not isinstance(name, str):
        return _fallback(name, settings)
    _check_settings(name, settings)
    return open_local(name, settings) if is_local(name) else open_remote(name, settings)


def _fallback(models: Any, settings: Mapping[str, Any]) -> Model:
    if settings:
        raise ValidationError(
            f"settings cannot be given for a list of models: {', '.join(settings)}",
            code="model_setting_invalid",
            details={"settings": sorted(settings)},
            hint="open each model with its own settings: "
            '`models.get([models.get("openai:gpt-5-mini", timeout=20), ...])`',
        )
    if not isinstance(models, list | tuple) or not models:
        raise ValidationError(
            f"a model is opened by a name or a non-empty list: {models!r}",
            code="model_invalid",
        )
    return Model.fallback([_named(one) for one in models])


def _named(given: Any) -> Model:
    if isinstance(given, Model):
        return given
    if isinstance(given, str):
        return open_any(given, {})
    raise ValidationError(
        f"a list of models must contain names or models, found: {type(given).__name__}",
        code="model_invalid",
        hint='for instance `models.get(["openai:gpt-5-mini", "ollama:qwen3"])`',
    )


def _check_settings(model: str, settings: Mapping[str, Any]) -> None:
    """Refuses settings that no model has, or whose value has another type.

    Raises:
        ValidationError: there is one (``model_setting_invalid``).
    """
    for name, value in settings.items():
        if name not in _SETTINGS:
            near = difflib.get_close_matches(name, _SETTINGS, 1)
            raise ValidationError(
                f"unknown model setting: {name}",
                code="model_setting_invalid",
                details={"setting": name},
                hint=f"did you mean `{near[0]}`?" if near else f"use {', '.join(_SETTINGS)}",
            )
        expected, fits = _SETTINGS[name]
        if value is not None and not fits(value):
            # A number is shown; other values may be keys.
            is_shown = name in _NUMBERS and isinstance(value, int | float | str)
            raise ValidationError(
                f"`{name}` of model `{model}` must be {expected}: "
                f"{repr(value) if is_shown else type(value).__name__}",
                code="model_setting_invalid",
                details={"setting": name},
            )


def open_remote(name: str, settings: Mapping[str, Any]) -> Model:
    """A model behind an address: of a provider, or of a server on this machine.

    Raises:
        ValidationError: the name or a setting cannot be used, as `antiphon.models.get`.
        AuthError: the provider wants a key, and there is none (``model_key_missing``).
    """
    try:
        return Model.open(name, dict(os.environ), dict(settings))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValidationError(
            f"invalid setting of model `{name}`: {error}",
            code="model_setting_invalid",
            details={"settings": sorted(settings)},
        ) from None


def is_local(name: str) -> bool:
    """Whether a model's name is that of one on this machine: ``local:size``, or a .gguf file."""
    return name.lower().endswith(".gguf") or name.partition(":")[0].lower() == _LOCAL


def weights_of(name: str) -> str | None:
    """The local model or path of a name; ``None`` for a model of a provider."""
    if not is_local(name):
        return None
    if name.lower().endswith(".gguf"):
        return name.removeprefix(f"{_LOCAL}:")
    from antiphon import local

    size = name.partition(":")[2]
    sizes = {one.name.rpartition(":")[2]: one.name for one in local.CATALOG}
    return sizes.get(size.lower(), size) or local.CATALOG[0].name


def open_local(name: str, settings: Mapping[str, Any]) -> Model:
    """Starts a local model, once per process, and opens it.

    Raises:
        ValidationError: a setting belongs to a server elsewhere (``model_setting_invalid``),
            or as `antiphon.local.shared`.
        ModelTransportError: as `antiphon.local.shared`.
    """
    for setting in ("api_key", "base_url"):
        if setting in settings:
            raise ValidationError(
                f"a local model does not have the setting: {setting}",
                code="model_setting_invalid",
                details={"setting": setting},
                hint="antiphon starts the server of a local model itself; for your own server "
                f'write `models.get("llamacpp:name", {setting}=...)`',
            )
    # What starts models on this machine is only imported for one.
    from antiphon import local

    # The bar announces a download with its size; a model that is here shows nothing.
    with local.ProgressBar() as bar:
        server = local.shared(weights_of(name), parallel=1, progress=bar)
    return open_server(server, settings)


def open_server(server: LocalServer, settings: Mapping[str, Any] | None = None) -> Model:
    """A model of a server that antiphon has started on this machine."""
    given = dict(settings or {})
    own = given.get("capabilities") or {}
    if isinstance(own, Mapping):  # anything else is refused where it is read
        given["capabilities"] = {"default_max_tokens": _MAX_TOKENS, **own}
    usual = {"timeout": _TIMEOUT, "idle_timeout": _TIMEOUT}
    address = {"base_url": server.base_url, "api_key": server.api_key}
    return open_remote(f"llamacpp:{server.model}", {**usual, **given, **address})
