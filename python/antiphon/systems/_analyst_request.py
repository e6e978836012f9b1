"""What a question to a data analyst comes with, checked before a run is made of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from antiphon.errors import AntiphonError, ValidationError
from antiphon.systems.data_analyst_result import AgentRequest
from antiphon.tools import encode_result

if TYPE_CHECKING:
    from collections.abc import Sequence

_SECRETS = (
    "token",
    "password",
    "secret",
    "api_key",
    "apikey",
    "credential",
    "authorization",
    "headers",
)
"""As in src/systems/src/data_analyst/request.rs, whose error speaks of `context`."""


class AgentRequestOptions(TypedDict, total=False):
    """What a question can come with; `antiphon.systems.AgentRequest` describes each."""

    prefer_agents: Sequence[str | None]
    disable_agents: Sequence[str | None]
    max_turns: int | None
    include_data: bool
    trace: bool
    system_prompt: str | None


def request_of(
    question: str | AgentRequest,
    facts: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> tuple[str, dict[str, Any]]:
    """The text of a question, and the fields of its request.

    Raises:
        ValidationError: a field has another type, a key of `facts` names a secret, or an
            `AgentRequest` is not alone (``input_invalid``).
    """
    if not isinstance(question, AgentRequest):
        _check_agents(options)
        _check_secrets(facts)
        return question, {"facts": facts, **options}
    if facts is not None or options:
        raise ValidationError(
            "an `AgentRequest` has all fields of the question, and others were given beside it: "
            + ", ".join([*(["facts"] if facts is not None else []), *options]),
            code="input_invalid",
        )
    fields = {name: getattr(question, name) for name in AgentRequestOptions.__annotations__}
    _check_agents(fields)
    return question.question, {"facts": question.context, **fields}


def plain_facts(facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """The facts as JSON values.

    Raises:
        ValidationError: they are none (``input_invalid``).
    """
    if facts is not None and not isinstance(facts, Mapping):
        raise ValidationError(
            f"`facts` must be a dict of JSON values by name: {type(facts).__name__}",
            code="input_invalid",
            hint='pass `facts={"tenant": "north"}`',
        )
    try:
        plain = encode_result(dict(facts or {}))
        json.dumps(plain)
    except (TypeError, ValueError, AntiphonError) as error:
        raise ValidationError(
            f"`facts` must hold JSON values: {error}",
            code="input_invalid",
            hint="pass text, numbers, lists or dicts of them",
        ) from error
    return dict(plain)


def _check_agents(fields: Mapping[str, Any]) -> None:
    for name in ("prefer_agents", "disable_agents"):
        given = fields.get(name)
        if isinstance(given, str):
            raise ValidationError(
                f"`{name}` must be a list of agents: {given!r}",
                code="input_invalid",
                hint=f"write `{name}=[{given!r}]`",
            )


def _check_secrets(facts: Any) -> None:
    if not isinstance(facts, Mapping):
        return
    for key in facts:
        if any(part in str(key).lower() for part in _SECRETS):
            raise ValidationError(
                f"`facts` are read by models, and a key of them names a secret: {key}",
                code="input_invalid",
                hint="give credentials to the tools of the API or the database",
            )
