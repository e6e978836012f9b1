"""The state of a team: what its keys are, how agents see it, and how writes go in."""

from __future__ import annotations

import dataclasses
import typing
from typing import TYPE_CHECKING, Any, Protocol

from antiphon._antiphon import Overwrite
from antiphon._orchestrator.messages import listed
from antiphon._orchestrator.value_types import ValueTypes
from antiphon._state_schema import EXTRAS, Channel, is_model, read_schema
from antiphon.errors import StateError, ValidationError
from antiphon.state import append as append_rule
from antiphon.state import extend, merge, once

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from antiphon._antiphon import Builder


BASE = ("question", "messages", "answer")
"""The keys of every state."""

_RULES: dict[Any, str] = {
    append_rule: "append",
    extend: "extend",
    merge: "merge",
    once: "once",
    max: "max",
}


class State(Protocol):
    """The state of a team."""

    keys: frozenset[str] | None
    """The keys; ``None`` if it is open."""
    schemas: tuple[Any, ...]
    """The classes that declare its types."""
    reset_keys: tuple[str, ...]
    """The keys that each run on a thread resets."""
    merged_keys: frozenset[str]
    """The keys that have reducers."""

    def declare(self, builder: Builder) -> None:
        """Adds its channels to a graph."""

    def show(self, raw: dict[str, Any]) -> Any:
        """The engine's state as agents see it."""

    def begin(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The first writes of a run: the input over the defaults.

        Raises:
            ValidationError: a required key is missing, or a value does not fit
                (``input_invalid``).
        """

    def turn(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The writes of a further run on a thread.

        Raises:
            StateError: a value does not fit its key (``write_mistyped``).
        """

    def write(self, update: Any, agent: str | None) -> dict[str, Any]:
        """An update by an agent, or by the user, as the engine takes it.

        Raises:
            StateError: as `turn`.
        """


def read_state(kind: Any) -> State:
    """The state of a team; an open state without a class.

    Raises:
        ValidationError: it has no fields (``state_invalid``), or a merge rule is wrong
            (``graph_invalid``).
    """
    if kind is None:
        return OpenState()
    if not isinstance(kind, type) or not getattr(kind, "__annotations__", None):
        raise ValidationError(
            f"`state` of a team must be a class with annotated fields: {kind!r}",
            code="state_invalid",
            hint="declare a TypedDict, a dataclass or a pydantic model",
        )
    return SchemaState(kind)


class SchemaState:
    """A state whose keys are declared by a class, and the `BASE` keys."""

    def __init__(self, kind: type) -> None:
        self._kind = _complete(kind)
        schema = read_schema(self._kind)
        if schema.managed:
            raise ValidationError(
                "only graphs compute the keys of a state that are declared as `RemainingSteps` or "
                f"`IsLastStep`: {', '.join(schema.managed)}",
                code="state_invalid",
                hint="remove them: a team has `max_steps`",
            )
        self._channels = schema.channels
        self._makes = schema.makes
        self.keys: frozenset[str] | None = frozenset(self._channels) | set(BASE)
        self.merged_keys = frozenset(name for name in self._channels if self._reduces(name))
        self.schemas: tuple[Any, ...] = (self._kind,)
        self._fields = Fields(self._kind)
        rules = {name: _rule(channel) for name, channel in self._channels.items()}
        self._types = ValueTypes(self._checked_hints(), rules)
        # Without a default there would be none.
        self.reset_keys: tuple[str, ...] = () if "answer" in self._fields.required else ("answer",)

    def declare(self, builder: Builder) -> None:
        for name in sorted(self.keys or ()):
            channel = self._channels.get(name, Channel(name))
            builder.channel(name, _rule(channel), takes_context=channel.takes_context)

    def show(self, raw: dict[str, Any]) -> Any:
        if not self._makes:
            return {key: value for key, value in raw.items() if not key.startswith("__")}
        fields = {key: value for key, value in raw.items() if key in self._channels}
        if not self._fields.required <= fields.keys():
            # A run that was stopped before its input was there.
            return fields
        if is_model(self._kind):
            return self._kind.model_construct(set(fields), **fields)  # type: ignore[attr-defined]
        return self._kind(**fields)

    def begin(self, given: Mapping[str, Any]) -> dict[str, Any]:
        unknown = sorted(set(given) - (self.keys or set()))
        if unknown:
            raise ValidationError(
                f"unknown key of the state: {', '.join(unknown)}",
                code="input_invalid",
                hint=f"its keys are {', '.join(sorted(self.keys or ()))}",
            )
        first = {**self._defaults(), **given}
        missing = sorted(self._fields.required - set(first))
        if missing:
            raise ValidationError(
                f"the input lacks required keys of the state: {', '.join(missing)}",
                code="input_invalid",
                hint="pass a dict with them, or give them defaults",
            )
        if "messages" in first:
            first["messages"] = listed(first["messages"])
        try:
            checked = self._fields.coerced(self._checkable(first))
            self._types.check(checked, whole=True)
        except StateError as error:
            raise ValidationError(error.message, code="input_invalid", hint=error.hint) from error
        # What a run begins with is a whole value, also where a write is a part of one.
        return {
            key: Overwrite(value) if self._reduces(key) else value
            for key, value in {**first, **checked}.items()
        }

    def turn(self, given: Mapping[str, Any]) -> dict[str, Any]:
        first = self._defaults()
        fresh = {key: first[key] for key in ("answer",) if key in first and key not in given}
        # In a new thread the same values are whole ones, which `begin` checks.
        return {**fresh, **self.write(given, None)}

    def write(self, update: Any, agent: str | None) -> dict[str, Any]:
        fields = fields_of(update)
        if "messages" in fields and self._channels.get("messages", _MESSAGES) == _MESSAGES:
            fields["messages"] = listed(fields["messages"], agent)
        checked = self._checkable(fields)
        whole = {key: value for key, value in checked.items() if not self._reduces(key)}
        checked |= self._fields.coerced(whole)
        self._types.check(checked, whole=False)
        return {**fields, **checked}

    def _checkable(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values that must fit their types."""
        # An empty dict is a common default of one that agents fill in, so it may lack fields, also
        # where an inner team is given the state, or an agent returns it.
        empty = {key for key, value in values.items() if _is_empty_dict(value)}
        if empty:
            defaults = self._defaults()
            empty = {key for key in empty if _is_empty_dict(defaults.get(key))}
        return {key: value for key, value in values.items() if key not in empty}

    def _defaults(self) -> dict[str, Any]:
        """A new value for each key that need not be given."""
        first = self._fields.defaults()
        for name, channel in self._channels.items():
            absent = name not in first and _rule(channel) != "once"
            if absent and channel.factory is not None:
                first[name] = channel.factory()
        return first

    def _checked_hints(self) -> dict[str, Any]:
        """The types of the keys whose values nothing else checks."""
        hints = typing.get_type_hints(self._kind)
        by_pydantic = [name for name in hints if is_model(self._kind) and not self._reduces(name)]
        return {name: hints[name] for name in hints if name not in (*BASE, *by_pydantic)}

    def _reduces(self, key: str) -> bool:
        channel = self._channels.get(key)
        return channel is not None and channel.reducer is not None


_MESSAGES = Channel("messages")


def fields_of(update: Any) -> dict[str, Any]:
    """An update as a dict: of a dict, a dataclass or a pydantic model."""
    if isinstance(update, dict):
        return dict(update)
    if dataclasses.is_dataclass(update) and not isinstance(update, type):
        return {field.name: getattr(update, field.name) for field in dataclasses.fields(update)}
    names: set[str] = update.model_fields_set
    return {name: getattr(update, name) for name in names}


def is_record(value: Any) -> bool:
    """Whether `fields_of` can read it."""
    return (
        isinstance(value, dict)
        or (dataclasses.is_dataclass(value) and not isinstance(value, type))
        or is_model(type(value))
    )


def _rule(channel: Channel) -> Any:
    if channel.reducer is None:
        return {"messages": "messages", "answer": "last"}.get(channel.name, "set")
    try:
        native = _RULES.get(channel.reducer)
    except TypeError:  # a callable without a hash
        native = None
    return native or getattr(channel.reducer, "__antiphon_rule__", None) or channel.merge


def _complete(kind: type) -> type:
    """The class with the `BASE` keys, so that they are fields of its instances too."""
    lacking = [name for name in BASE if name not in typing.get_type_hints(kind)]
    if not lacking:
        return kind
    fresh: dict[str, tuple[Any, Any]] = {
        "question": (str, ""),
        "messages": (list[Any], None),
        "answer": (Any, None),
    }
    if is_model(kind):
        import pydantic

        made = {
            name: (fresh[name][0], pydantic.Field(default_factory=list))
            if name == "messages"
            else fresh[name]
            for name in lacking
        }
        model: type = pydantic.create_model(kind.__name__, __base__=kind, **made)  # type: ignore[call-overload]
        return model
    if dataclasses.is_dataclass(kind):
        fields = [
            (name, fresh[name][0], dataclasses.field(default_factory=list))
            if name == "messages"
            else (name, fresh[name][0], dataclasses.field(default=fresh[name][1]))
            for name in lacking
        ]
        frozen: bool = kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
        return dataclasses.make_dataclass(
            kind.__name__, fields, bases=(kind,), frozen=frozen, kw_only=True
        )
    return kind


class OpenState:
    """A state whose keys are not known beforehand.

    The engine's channels are fixed, so the keys that agents add are the fields of one hidden
    channel. Each has the rule that a declared key without one has: the last write counts, and
    two agents that run in parallel must not write different values.
    """

    keys: frozenset[str] | None = None
    schemas: tuple[Any, ...] = ()
    reset_keys: tuple[str, ...] = ("answer",)
    merged_keys: frozenset[str] = frozenset()

    def declare(self, builder: Builder) -> None:
        builder.channel("question")
        builder.channel("messages", "messages", default=[])
        builder.channel("answer", "last")
        builder.channel(EXTRAS, "fields", default={})

    def show(self, raw: dict[str, Any]) -> dict[str, Any]:
        shown = {key: value for key, value in raw.items() if not key.startswith("__")}
        return {**shown, **raw.get(EXTRAS, {})}

    def begin(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return self._split(dict(given), None)

    def turn(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return self._split(dict(given), None)

    def write(self, update: Any, agent: str | None) -> dict[str, Any]:
        return self._split(fields_of(update), agent)

    def _split(self, fields: dict[str, Any], agent: str | None) -> dict[str, Any]:
        made = {key: fields.pop(key) for key in BASE if key in fields}
        if "messages" in made:
            made["messages"] = listed(made["messages"], agent)
        if not fields:
            return made
        key: Any
        for key in fields:
            if not isinstance(key, str) or key.startswith("__"):
                raise StateError(
                    f"a key of the state must be a string that does not begin with `__`: {key!r}",
                    code="state_key_unknown",
                )
        return {**made, EXTRAS: fields}


RECORDED = "__errors__"
"""The channel of errors after which the team continued."""
HANDED = "__handed__"
"""The channel of errors that another agent took over."""
WROTE = "__wrote__"
"""The channel that says that agents wrote keys beside the answer."""
CUT = "__cut__"
"""The channel that says that a reply was cut off at its limit of tokens."""


def noted(update: dict[str, Any]) -> dict[str, Any]:
    """An agent's update, with the note that it delivers something, if that is no answer."""
    delivers = update.get("answer") is None and update.keys() - {"question", "messages", "answer"}
    return {**update, WROTE: True} if delivers else update


def delivered(raw: Mapping[str, Any]) -> bool:
    """Whether a run has an answer, or wrote other keys in its place."""
    answer = raw.get("answer")
    is_blank = answer is None or (isinstance(answer, str) and not answer.strip())
    return not is_blank or bool(raw.get(WROTE))


class StateView:
    """The state as agents see it, and the errors that only the team needs."""

    __slots__ = ("errors", "state")

    def __init__(self, state: Any, raw: dict[str, Any]) -> None:
        self.state = state
        self.errors: list[dict[str, Any]] = [*raw.get(RECORDED, ()), *raw.get(HANDED, ())]


class Fields:
    """What a class says about the values of its fields: types, defaults, which must be given."""

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self._model = is_model(kind)
        self.required = self._required()
        self._adapters = self._validators() if self._model else {}

    def defaults(self) -> dict[str, Any]:
        """A new value for each field that has a default."""
        if self._model:
            fields: dict[str, Any] = self._kind.model_fields  # type: ignore[attr-defined]
            return {
                name: field.get_default(call_default_factory=True)
                for name, field in fields.items()
                if not field.is_required()
            }
        found: dict[str, Any] = {}
        if dataclasses.is_dataclass(self._kind):
            for field in dataclasses.fields(self._kind):
                if field.default is not dataclasses.MISSING:
                    found[field.name] = field.default
                elif field.default_factory is not dataclasses.MISSING:
                    found[field.name] = field.default_factory()
        return found

    def coerced(self, values: dict[str, Any]) -> dict[str, Any]:
        """The values as pydantic stores them; others as they are."""
        return {
            name: self._coerce(name, value) if name in self._adapters else value
            for name, value in values.items()
        }

    def _coerce(self, name: str, value: Any) -> Any:
        import pydantic

        try:
            return self._adapters[name].validate_python(value)
        except pydantic.ValidationError as error:
            found = error.errors(include_url=False, include_context=False)[0]
            raise StateError(
                f"invalid value for {_place(found['loc'], name)}: {found['msg']}",
                code="write_mistyped",
                details={"key": name},
            ) from error

    def _required(self) -> set[str]:
        if self._model:
            fields: dict[str, Any] = self._kind.model_fields  # type: ignore[attr-defined]
            return {name for name, field in fields.items() if field.is_required()}
        if dataclasses.is_dataclass(self._kind):
            missing = dataclasses.MISSING
            fields_ = dataclasses.fields(self._kind)
            return {f.name for f in fields_ if f.default is f.default_factory is missing}
        return set()

    def _validators(self) -> dict[str, Any]:
        import pydantic

        fields: dict[str, Any] = self._kind.model_fields  # type: ignore[attr-defined]
        config = pydantic.ConfigDict(arbitrary_types_allowed=True)
        made = {}
        for name, field in fields.items():
            own: Any = field.annotation
            if field.metadata:
                own = typing.Annotated[(own, *field.metadata)]
            try:
                made[name] = pydantic.TypeAdapter(own, config=config)
            except pydantic.PydanticUserError:  # the type has its own configuration
                made[name] = pydantic.TypeAdapter(own)
        return made


def _place(steps: Sequence[str | int], key: str) -> str:
    """Where pydantic found something within the value of a key."""
    named = [f"item {step}" if isinstance(step, int) else f"`{step}`" for step in steps]
    return " of ".join([*reversed(named), f"the key `{key}`"])


def _is_empty_dict(value: Any) -> bool:
    return isinstance(value, dict) and not value
