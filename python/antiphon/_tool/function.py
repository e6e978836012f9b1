"""A Python callable as a tool: its signature and docstring become the declaration."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from typing import TYPE_CHECKING, Any, NoReturn

from antiphon._event_loop import is_async
from antiphon._schema import docstring
from antiphon._schema.contract import build
from antiphon._schema.hints import hints_of, unwrap
from antiphon._schema.pydantic_shape import is_field
from antiphon._schema.reader import Reader
from antiphon._schema.record import MISSING, Declaration, Record
from antiphon._text import snake_case
from antiphon._tool.context import ToolContext, check_run_context, without_context
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from antiphon._schema import JsonSchema

_KINDS: dict[Any, str] = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of values",
    inspect.Parameter.VAR_KEYWORD: "takes any name",
}
_UNIONS = (typing.Union, types.UnionType)


class FunctionBody:
    """A callable with what its signature says.

    Raises:
        ValidationError: it is no callable that a model can call by name
            (``tool_function``, ``tool_parameter``), or a hint has no schema.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.plain = plain_function(function)
        """The function at the bottom: without partial, binding or ``__call__``."""
        self.origin = _name_of(function, self.plain)
        self._check_kind()
        self.is_method = _instance_parameter(function) == "self"
        """Whether the first parameter waits for an instance."""
        text = docstring.parse(inspect.getdoc(_documented(function)))
        self.name = self.origin
        self.description = text.text
        reader = Reader()
        self._record = Record([], dict, closed=True)
        self._contexts: dict[str, bool] = {}
        self._returned: Any = Any
        self.context_type: Any = None
        """The context that the run has to have, if the function says one."""
        self._defaults: dict[str, Any] = {}
        for declared in self._declarations(text.parameters):
            if self._takes_context(declared):
                continue
            where = f"parameter `{declared.name}` of `{self.origin}`"
            self._record.fields.append(reader.field(declared, where))
        self.parameters: JsonSchema = reader.definitions.finish(
            self._record.schema(reader.definitions)
        )
        self.results: JsonSchema | None = _results(self._returned, self.origin)
        self.is_async = is_async(function) or is_async(self.plain)

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Builds the arguments and calls nothing.

        Raises:
            ValidationError: an argument does not fit (``invalid_value``).
        """
        self._build(arguments)

    def invoke(self, arguments: Mapping[str, Any], context: ToolContext | None) -> Any:
        """Builds the arguments and calls.

        Raises:
            ValidationError: an argument does not fit (``invalid_value``).
            ToolError: the function takes a context, or requires that of the run, and there is none
                (``tool_context``, ``context_missing``).
        """
        present = self._build(arguments)
        for name in self._defaults.keys() - present.keys():
            present[name] = self._defaults[name].get_default(call_default_factory=True)
        for name, required in self._contexts.items():
            if context is not None:
                check_run_context(self.origin, self.context_type, context)
                present[name] = context
            elif required:
                raise without_context(self.origin)
        return self.function(**present)

    def _build(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            present: dict[str, Any] = build(self._record, dict(arguments), "")
        except ValidationError as error:
            raise ValidationError(
                f"the arguments of tool `{self.name}` do not fit: {error.message}",
                code=error.code,
                details={**error.details, "tool": self.name},
            ) from error.__cause__
        return present

    def _check_kind(self) -> None:
        if isinstance(self.function, type):
            self._refuse("a class is no tool", "pass an instance with `__call__`, or a function")
        if inspect.isgeneratorfunction(self.plain) or inspect.isasyncgenfunction(self.plain):
            self._refuse("a tool returns one value, it does not yield", "return a list")
        if _instance_parameter(self.function) == "cls":
            self._refuse("a class method is no tool", "make it a method or a static method")

    def _refuse(self, complaint: str, hint: str) -> NoReturn:
        raise ValidationError(f"{complaint}: {self.origin}", code="tool_function", hint=hint)

    def _declarations(self, texts: Mapping[str, str]) -> list[Declaration]:
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError):
            self._refuse("the signature cannot be read", "wrap it in a `def` with type hints")
        hints = hints_of(self.plain, self.origin, _closure(self.plain))
        self._returned = hints.get("return", Any)
        given = _given(self.function)
        parameters = list(signature.parameters.values())[1 if self.is_method else 0 :]
        found = []
        for parameter in parameters:
            if parameter.name in given:
                continue
            if parameter.kind in _KINDS:
                self._refuse_parameter(parameter)
            hint = hints.get(parameter.name, Any)
            found.append(self._declare(parameter, hint, texts.get(parameter.name, "")))
        return found

    def _declare(self, parameter: inspect.Parameter, hint: Any, text: str) -> Declaration:
        """A parameter as a field. A pydantic ``Field`` as its default belongs to the hint."""
        default = MISSING if parameter.default is parameter.empty else parameter.default
        if is_field(default):
            hint, default = typing.Annotated[hint, default], MISSING
        required = default is MISSING
        if required:
            for note in filter(is_field, unwrap(hint).notes):
                if not note.is_required():
                    required = False
                    self._defaults[parameter.name] = note
        return Declaration(parameter.name, hint, required, default, text)

    def _refuse_parameter(self, parameter: inspect.Parameter) -> NoReturn:
        raise ValidationError(
            f"a tool's parameters are passed by name, but `{parameter.name}` of "
            f"`{self.origin}` {_KINDS[parameter.kind]}: {parameter}",
            code="tool_parameter",
            details={"function": self.origin, "parameter": parameter.name},
            hint="declare each parameter, or take one `dict[str, Any]`",
        )

    def _takes_context(self, declared: Declaration) -> bool:
        takes, wanted = wanted_context(declared.hint)
        if takes:
            self._contexts[declared.name] = declared.required
            self.context_type = wanted
        return takes


def wanted_context(hint: Any) -> tuple[bool, Any]:
    """Whether a parameter takes the context of a call, and the context of the run it requires."""
    tp = unwrap(hint).tp
    options = typing.get_args(tp) if typing.get_origin(tp) in _UNIONS else (tp,)
    for option in options:
        if option is ToolContext:
            return True, None
        if typing.get_origin(option) is ToolContext:
            wanted = typing.get_args(option)[0]
            is_optional = type(None) in (wanted, *typing.get_args(wanted))
            is_open = wanted is Any or isinstance(wanted, typing.TypeVar)
            return True, None if is_optional or is_open else wanted
    return False, None


def _results(hint: Any, origin: str) -> JsonSchema | None:
    """The schema of what a function returns, if its hint says more than any value."""
    if hint in (Any, object, type(None)):
        return None
    reader = Reader()
    try:
        schema = reader.read(hint, f"the result of `{origin}`").schema(reader.definitions)
    except ValidationError:  # a type that only Python knows
        return None
    return reader.definitions.finish(schema)


def plain_function(function: Any) -> Any:
    """The function whose hints count."""
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function) and not isinstance(function, type):
        function = getattr(type(function), "__call__", function)  # noqa: B004
    return inspect.unwrap(getattr(function, "__func__", function))


def _documented(function: Any) -> Any:
    """What carries the docstring: a callable object's class, if ``__call__`` has none."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or isinstance(function, type):
        return function
    call = type(function).__call__
    return call if call.__doc__ else type(function)


def _name_of(function: Any, plain: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or isinstance(function, type):
        return str(getattr(function, "__name__", plain.__name__))
    return snake_case(type(function).__name__)


def _instance_parameter(function: Any) -> str:
    """The first parameter of a method that is not bound yet: ``self`` or ``cls``."""
    if not isinstance(function, types.FunctionType):
        return ""
    outer = function.__qualname__.rpartition(".")[0]
    first = next(iter(inspect.signature(function).parameters), "")
    in_class = bool(outer) and not outer.endswith("<locals>")
    return first if in_class and first in {"self", "cls"} else ""


def _given(function: Any) -> set[str]:
    """Names that a partial has already filled; a model shall not see or change them."""
    found: set[str] = set()
    while isinstance(function, functools.partial):
        found |= function.keywords.keys()
        function = function.func
    return found


def _closure(plain: Any) -> dict[str, Any]:
    """Names of the enclosing functions that the function itself uses."""
    code = getattr(plain, "__code__", None)
    found = {}
    for name, cell in zip(
        getattr(code, "co_freevars", ()), getattr(plain, "__closure__", None) or (), strict=False
    ):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found
