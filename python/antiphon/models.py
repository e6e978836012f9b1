"""Models: opened by name, recorded and repeated, and scripted ones for tests."""

from __future__ import annotations

import copyreg
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from antiphon._antiphon import Model
from antiphon._json_values import encode_result
from antiphon._model.opening import open_any
from antiphon.budget import Budget
from antiphon.errors import AntiphonError, ValidationError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

__all__ = ["Budget", "Model", "get", "record", "replay", "scripted"]

_REPLY = ("delay", "fault", "finish", "json", "text", "tool_calls", "usage")


def _refuse_copy(model: Model) -> NoReturn:
    raise TypeError(
        f"a model cannot be pickled or copied: {model!r}; make it and its agents in each process, "
        "with a function that returns them"
    )


copyreg.pickle(Model, _refuse_copy)


def get(name: str | Sequence[str | Model], **settings: Any) -> Model:
    """Opens a model by its name. No request is sent yet.

    A local model (``"local:0.5b"``, ``"local:1.5b"``, or the path of a ``.gguf`` file) is
    downloaded on first use and started; a process starts each once.

    Args:
        name: ``"provider:model"``, for instance ``"openai:gpt-5-mini"``,
            ``"anthropic:claude-sonnet-5-5"``, ``"ollama:qwen3"`` or ``"local:1.5b"``. Or a list of
            names and `Model`s in the order of preference: the next one is asked when one cannot be
            reached, answers 429 or 5xx, or takes too long; a refused key or request fails at once.
        **settings: of one model: ``base_url`` and ``api_key`` (default: the environment
            variables that the provider's own client reads), ``timeout`` (seconds one attempt
            may take; default: 600), ``idle_timeout`` (seconds that a reply which has begun may
            pause; default: 120, on this machine 600), ``max_attempts`` (how often a request is
            sent if it fails with a connection error, 429, 5xx, a malformed or incomplete reply,
            or a time-out; default: 3), ``max_reply_bytes`` (of one reply, images included; default:
            16 MiB), ``headers`` and ``extra_body`` (added to each request), ``idempotency_header``
            (whether requests carry the key of their call as ``Idempotency-Key``, the same when a
            run that was lost makes them again; default: no), ``capabilities`` (what the model
            accepts, where that differs from what is known of it: a dict with some of
            ``temperature`` and ``tools`` (booleans), ``structured_output`` (``"strict"``,
            ``"schema"``, ``"json"``, ``"tool"`` or ``"prompt"``), ``max_tokens_field``
            (``"max_tokens"`` or ``"max_completion_tokens"``) and ``default_max_tokens``).

    Returns:
        The model. Its repr shows its name and no key; that of a list shows all names.

    Raises:
        ValidationError: the name, the address or a setting is invalid
            (``model_invalid``, ``model_name_malformed``, ``model_provider_unknown``,
            ``model_base_url_missing``, ``model_base_url_invalid``, ``model_setting_invalid``);
            a local model is unknown, or its runtime is not installed (``local_model_unknown``,
            ``local_runtime_missing``).
        AuthError: the provider requires a key, and none was found (``model_key_missing``).
        ModelTransportError: a local model cannot be downloaded or started
            (``local_model_unavailable``, ``local_server_failed``, ``local_server_timeout``).

    Example:
        >>> get("openai:gpt-5-mini", api_key="sk-not-shown")
        Model("openai:gpt-5-mini")
        >>> near = get("ollama:qwen3", timeout=20)
        >>> get([near, get("openai:gpt-5-mini", api_key="sk-not-shown")])
        Model("ollama:qwen3 | openai:gpt-5-mini")
    """
    return open_any(name, settings)


def record(
    path: str | os.PathLike[str], model: str | Sequence[str | Model] | Model, **settings: Any
) -> Model:
    """Opens a model whose requests and replies are appended to a new file.

    `replay` repeats them, for instance in tests that must not depend on a server. The file has
    one JSON object in each line. The keys that the model was opened with are replaced by
    ``***``; everything else stands there as it was sent.

    Args:
        path: the file. It must not exist.
        model: a model, or a name or a list as for `get`.
        **settings: as for `get`, with a name.

    Returns:
        The model, under its own name.

    Raises:
        ValidationError: the file exists or cannot be written (``recording_invalid``), or as `get`.
        AuthError: as `get`.
        ModelTransportError: as `get`.

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> record(f"{folder}/calls.jsonl", scripted("hello"))
        Model("test:scripted")
    """
    if isinstance(model, Model):
        if settings:
            raise ValidationError(
                f"settings cannot be given for an opened model: {', '.join(settings)}",
                code="model_setting_invalid",
                details={"settings": sorted(settings)},
                hint="give them to `models.get`",
            )
        return model.record(Path(path))
    return open_any(model, settings).record(Path(path))


def replay(path: str | os.PathLike[str]) -> Model:
    """Opens a model that repeats a recording of `record`, without asking anybody.

    A request has to be one of the recording: messages, tools, schema and parameters have to be
    equal. Equal requests get their replies in the order in which they were recorded; a recorded
    error is raised again.

    Args:
        path: the file.

    Returns:
        The model, under the name of the recorded one. A request that is not in the recording, or
        that has used up its replies, fails with the code ``recording_mismatch``.

    Raises:
        ValidationError: the file cannot be read or is no recording (``recording_invalid``).

    Example:
        >>> import tempfile
        >>> path = f"{tempfile.mkdtemp()}/calls.jsonl"
        >>> request = {"messages": [{"role": "user", "content": "hi"}]}
        >>> record(path, scripted("hello")).call(request)["text"]
        'hello'
        >>> replay(path).call(request)["text"]
        'hello'
    """
    return Model.replay(Path(path))


def scripted(
    replies: Any,
    *,
    name: str | None = None,
    replies_by_agent: Mapping[str, Any] | None = None,
) -> Model:
    """A model that returns the given replies in order, for tests without a network.

    Args:
        replies: a list of replies, or a single one. Each is a string; a dict with some of
            ``text``, ``json``, ``tool_calls`` (dicts of ``name`` and ``arguments``), ``finish``,
            ``usage``, ``delay`` (seconds) and ``fault``; or an error of `antiphon.errors`, which
            is raised.
        name: the name in traces. Default: ``test:scripted``.
        replies_by_agent: separate replies by the agent's name, so that agents that run in
            parallel do not take each other's.

    Returns:
        The model; its ``requests`` are those it has received, as dicts. After the last reply it
        fails with the code ``script_exhausted``.

    Raises:
        ValidationError: a reply is none of these (``script_invalid``).

    Example:
        >>> scripted(["hello", {"json": {"n": 1}}], replies_by_agent={"critic": ["too short"]})
        Model("test:scripted")
    """
    own = (replies_by_agent or {}).items()
    branches = [("agent", agent, _script(given)) for agent, given in own]
    return Model.scripted(_script(replies), name=name, branches=branches)


def _script(replies: Any) -> list[Any]:
    if isinstance(replies, str | dict | AntiphonError):
        return [_reply(replies)]
    try:
        listed = list(replies)
    except TypeError:
        raise ValidationError(
            f"a script must be a reply or a list of replies: {type(replies).__name__}",
            code="script_invalid",
            hint='for instance `scripted(["first", "second"])`',
        ) from None
    return [_reply(reply) for reply in listed]


def _reply(reply: Any) -> Any:
    if isinstance(reply, str):
        return {"text": reply}
    if isinstance(reply, AntiphonError):
        fault = {"category": reply.category, "code": reply.code, "message": reply.message}
        return {"fault": fault}
    if isinstance(reply, dict) and reply and set(reply) <= set(_REPLY):
        return {key: encode_result(value) for key, value in reply.items()}
    found = sorted(set(reply) - set(_REPLY)) if isinstance(reply, dict) else type(reply).__name__
    raise ValidationError(
        "a scripted reply must be a string, an error of `antiphon.errors`, or a dict of known "
        f"fields: {found}",
        code="script_invalid",
        hint=f"the fields are {', '.join(_REPLY)}; for an object as JSON write `{{'json': ...}}`",
    )
