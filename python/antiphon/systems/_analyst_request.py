"""What a question to a data analyst comes with, checked before a run is made of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypedDict, get_args

from antiphon._keywords import check_keywords
from antiphon.errors import ValidationError
from antiphon.systems._inputs import plain_fact
from antiphon.systems.data_analyst_result import AgentName

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECRET_WORD = re.compile(
    "(token|password|secret|apikey|credentials?|authorization|^headers)$", re.MULTILINE
)
_SECRET_END = re.compile(r"(^|\n)(tokens|passwords|secrets)\Z|(^|\n)api\nkey(\n|\Z)")
_WORD_BORDER = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=\d)(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""As src/systems/src/data_analyst/secret_name.rs, whose error speaks of `context`."""
_AGENTS: tuple[str, ...] = get_args(AgentName)
_KINDS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "max_turns": ((int, type(None)), "an integer"),
    "include_data": (bool, "True or False"),
    "trace": (bool, "True or False"),
    "system_prompt": ((str, type(None)), "a text"),
}
"""What the other options are."""


class AgentRequestOptions(TypedDict, total=False):
    """What a question can come with; `antiphon.systems.AgentRequest` describes each."""

    prefer_agents: Sequence[str | None]
    disable_agents: Sequence[str | None]
    max_turns: int | None
    include_data: bool
    trace: bool
    system_prompt: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRequest:
    """A question for a data analyst, and how it is to be answered.

    Attributes:
        question: the question.
        context: what models should know besides, as JSON values. It becomes part of prompts:
            pass no secrets.
        prefer_agents: agents that come first if the question is for them. Names are read in any
            case, each once, without ``None``.
        disable_agents: agents that are not used, read in the same way.
        max_turns: how many agents may work; the rest is skipped. Default: all.
        include_data: whether the response has rows.
        trace: whether the response has the events.
        system_prompt: further instructions of the composer.

    Raises:
        ValidationError: the question is blank (``question_blank``); a field has another type, an
            agent is unknown, or a key of `context` names a secret (``input_invalid``).

    Example:
        >>> AgentRequest(question="How many orders?", prefer_agents=[" SQL ", None]).prefer_agents
        ('sql',)
    """

    question: str
    context: Mapping[str, Any] = field(default_factory=dict)
    prefer_agents: Sequence[str | None] = ()
    disable_agents: Sequence[str | None] = ()
    max_turns: int | None = None
    include_data: bool = True
    trace: bool = False
    system_prompt: str | None = None

    def __post_init__(self) -> None:
        question: Any = self.question
        if not isinstance(question, str):
            kind = type(question).__name__
            raise ValidationError(f"`question` must be a text: {kind}", code="input_invalid")
        if not question.strip():
            raise ValidationError(
                f"the question is blank: {self.question!r}", code="question_blank"
            )
        _check_options({name: getattr(self, name) for name in AgentRequestOptions.__annotations__})
        for name in ("prefer_agents", "disable_agents"):
            object.__setattr__(self, name, _agents(getattr(self, name)))
        object.__setattr__(self, "context", plain_facts(self.context, "context"))


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
        _check_options(options)
        return question, {"facts": plain_facts(facts), **options}
    if facts is not None or options:
        raise ValidationError(
            "an `AgentRequest` has all fields of the question, and others were given beside it: "
            + ", ".join([*(["facts"] if facts is not None else []), *options]),
            code="input_invalid",
        )
    fields = {name: getattr(question, name) for name in AgentRequestOptions.__annotations__}
    return question.question, {"facts": question.context, **fields}


def plain_facts(facts: Mapping[str, Any] | None, argument: str = "facts") -> dict[str, Any]:
    """The facts as JSON values.

    Args:
        facts: what was given.
        argument: what the caller calls them.

    Raises:
        ValidationError: they are none, or a key names a secret (``input_invalid``).
    """
    if facts is None:
        return {}
    if not isinstance(facts, Mapping):
        raise ValidationError(
            f"`{argument}` must be a dict of JSON values by name: {type(facts).__name__}",
            code="input_invalid",
            hint=f'pass `{argument}={{"tenant": "north"}}`',
        )
    _check_secrets(facts, argument)
    return {str(name): plain_fact(argument, name, value) for name, value in facts.items()}


def _check_options(options: Mapping[str, Any]) -> None:
    known = frozenset([*AgentRequestOptions.__annotations__, "facts"])
    check_keywords("a question to a data analyst", options, known)
    for name in ("prefer_agents", "disable_agents"):
        _check_agents(name, options.get(name, ()))
    for name, (kind, expected) in _KINDS.items():
        given = options.get(name)
        is_count = kind is not bool and isinstance(given, bool)
        if name in options and (is_count or not isinstance(given, kind)):
            raise ValidationError(f"`{name}` must be {expected}: {given!r}", code="input_invalid")
    turns = options.get("max_turns")
    if turns is not None and turns < 1:
        raise ValidationError(f"`max_turns` must be at least 1: {turns}", code="input_invalid")


def _check_agents(name: str, given: Any) -> None:
    if isinstance(given, str) or not isinstance(given, Iterable):
        known = isinstance(given, str) and given.strip().lower() in _AGENTS
        raise ValidationError(
            f"`{name}` must be a list of agents: {given!r}",
            code="input_invalid",
            hint=f"write `{name}=[{given!r}]`" if known else f"they are {', '.join(_AGENTS)}",
        )
    for agent in given:
        if agent is None or str(agent).strip().lower() in _AGENTS:
            continue
        near = get_close_matches(str(agent).lower(), _AGENTS, 1)
        raise ValidationError(
            f"`{name}` has an unknown agent: {agent}",
            code="input_invalid",
            hint=f"did you mean `{near[0]}`?" if near else f"they are {', '.join(_AGENTS)}",
        )


def _agents(given: Iterable[Any]) -> tuple[str, ...]:
    """Agents by their names, each once."""
    names = (str(agent).strip().lower() for agent in given if agent is not None)
    return tuple(dict.fromkeys(names))


def _check_secrets(facts: Mapping[Any, Any], argument: str) -> None:
    for key in _keys(facts):
        if _names_secret(str(key)):
            raise ValidationError(
                f"`{argument}` is read by models, and a key of it names a secret: {key}",
                code="input_invalid",
                hint="give credentials to the tools of the API or the database",
            )


def _names_secret(name: str) -> bool:
    """Whether one of the words of a name says that its value is a secret."""
    words = re.sub(r"[\W_]+", "\n", _WORD_BORDER.sub("\n", name)).strip("\n").lower()
    return bool(_SECRET_WORD.search(words) or _SECRET_END.search(words))


def _keys(value: Any) -> Iterator[Any]:
    """The keys of a value, and of all that it holds."""
    if isinstance(value, Mapping):
        yield from value
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return
    for item in value:
        yield from _keys(item)
