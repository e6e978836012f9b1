"""Tools: functions that a model may call."""

from __future__ import annotations

import copy
import functools
import types
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from antiphon._json_values import encode_result
from antiphon._keywords import check_keywords
from antiphon._tool.approval import Approval, ToolCall, approval_kind
from antiphon._tool.arguments import check_arguments, check_awaited, check_bound
from antiphon._tool.bodies import body_of
from antiphon._tool.context import ToolContext
from antiphon._tool.gate import (
    GATE_OPTIONS,
    CircuitBreaker,
    acall_gated,
    breaker_spec,
    call_gated,
    read_gate,
)
from antiphon._tool.langchain import as_structured_tool, is_langchain_tool
from antiphon._tool.native import NativeBody
from antiphon._tool.options import (
    MAX_RESULT,
    CallOptions,
    SideEffect,
    ToolOptions,
    ToolSpec,
    check_list,
    check_name,
    check_options,
)
from antiphon._tool.retry import read_tool_retry
from antiphon._tool.schema import SchemaBody
from antiphon._tool.timed_call import acall_tool
from antiphon.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Unpack

    from antiphon._antiphon import NativeTool, RetryPolicy, ToolGate
    from antiphon._schema import JsonSchema
    from antiphon._tool.lifespan import HasLifespan

__all__ = [
    "KEYWORDS",
    "Approval",
    "CircuitBreaker",
    "FunctionTool",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolSpec",
    "encode_result",
]

_P = ParamSpec("_P")
_R = TypeVar("_R")

KEYWORDS = frozenset(ToolOptions.__annotations__)
"""The options of a tool."""
_APART = {"name", "retry"}
"""Options that are checked separately."""
_OPTIONS = tuple(option for option in ToolOptions.__annotations__ if option not in _APART)


class Tool:
    """A tool for models: a Python callable, or a LangChain tool.

    Args:
        function: a function, coroutine function, partial, bound method, object
            with ``__call__``, or LangChain tool. Parameters are described by type
            hints, ``Annotated[T, "text"]``, a pydantic ``Field`` or the docstring; one
            without a hint accepts any value. A parameter of type `ToolContext` is
            injected and hidden from the model.
        name: for the model: 1 to 64 letters, digits, ``_`` or ``-``. Default: the
            function's name; for an object its class in snake case.
        description: for the model. Default: the docstring without its sections.
        timeout: the time limit of one call, in seconds, further attempts included. Default: no
            separate limit.
        max_concurrency: the limit of calls that are under way at once, in all runs of the process
            together; further calls wait, within `timeout`. Default: no limit.
        breaker: a `CircuitBreaker`, which refuses calls for a while after failures in a row, in
            all runs of the process; ``True`` for the default one. Default: none.
        retry: a `RetryPolicy`, or how many attempts, after exceptions that a further attempt may
            not meet, such as lost connections. Only for tools that are `idempotent` or have no
            side effects. All attempts have the same idempotency key, and count as one call; the
            model reads the last failure. Default: one attempt.
        max_calls: the limit of calls in one agent run. Default: no limit.
        approval: who approves calls, after their arguments were validated. ``True``: a person;
            the run pauses until the answer. A function of the `ToolCall`, sync or async: it
            returns true, false, or the reason for a refusal, which the model reads. Calls that
            are not approved do not count for `max_calls`. Default: ``False``, no approval.
        idempotent: whether calls may be repeated. Default: no.
        cache: whether a ready system may answer an equal call with the result of an earlier
            one, within one question. Agents of a team call it every time. Default: if
            `side_effect` is ``none`` or ``read``.
        side_effect: the side effects of a call: ``none``, ``read``, ``write`` (to the caller's
            systems) or ``external`` (to those of others). Calls of one reply run in parallel
            only if all are ``none`` or ``read``. Default: ``external``.
        max_result: the characters of a result that the model reads. Default: 20,000.

    Raises:
        ValidationError: an option is wrong (``tool_name``, ``tool_option``), the
            function cannot be called by parameter name (``tool_function``,
            ``tool_parameter``), or a hint has no JSON schema (``unsupported_type``,
            ``unresolved_type``).
    """

    name: str
    description: str
    timeout: float | None
    max_concurrency: int | None
    breaker: CircuitBreaker | bool
    retry: RetryPolicy | int | None
    max_calls: int | None
    approval: Approval
    idempotent: bool
    cache: bool | None
    side_effect: SideEffect
    max_result: int

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        timeout: float | None = None,
        max_concurrency: int | None = None,
        breaker: CircuitBreaker | bool = False,
        retry: RetryPolicy | int | None = None,
        max_calls: int | None = None,
        approval: Approval = False,
        idempotent: bool = False,
        cache: bool | None = None,
        side_effect: SideEffect = "external",
        max_result: int = MAX_RESULT,
    ) -> None:
        self.toolset: HasLifespan | None = None
        """The toolset that it belongs to."""
        self.gate: ToolGate | None = None
        """What all calls share: a limit of concurrency, a circuit breaker."""
        self._body = body_of(function, Tool)
        made = isinstance(self._body, SchemaBody | NativeBody)
        called: Any = self._body.function if made else function
        copied = ("__dict__",) if isinstance(called, types.FunctionType) else ()
        functools.update_wrapper(self, called, updated=copied)  # type: ignore[arg-type]
        self._set_options(
            {
                "name": name,
                "description": description,
                "timeout": timeout,
                "max_concurrency": max_concurrency,
                "breaker": breaker,
                "retry": retry,
                "max_calls": max_calls,
                "approval": approval,
                "idempotent": idempotent,
                "cache": cache,
                "side_effect": side_effect,
                "max_result": max_result,
            }
        )

    def _set_options(self, options: Mapping[str, Any], gate: ToolGate | None = None) -> None:
        """Checks all options and sets them."""
        body, name, description = self._body, options["name"], options["description"]
        self.name = check_name(body.name if name is None else name, body.origin)
        for option in _OPTIONS:
            setattr(self, option, options[option])
        self.description = body.description if description is None else description
        check_options(self.name, {option: getattr(self, option) for option in _OPTIONS})
        self.timeout = None if self.timeout is None else float(self.timeout)
        self.retry = options["retry"]
        repeatable = self.idempotent or self.side_effect in {"none", "read"}
        self._retry = read_tool_retry(self.name, self.retry, self.timeout, repeatable=repeatable)
        body.name = self.name
        self.gate = gate or read_gate(self.name, self.timeout, self.breaker, self.max_concurrency)
        if isinstance(body, NativeBody):
            body.apply(self.timeout, self.gate)

    @classmethod
    def from_callable(
        cls, function: Callable[_P, _R], **options: Unpack[ToolOptions]
    ) -> FunctionTool[_P, _R]:
        """Makes a tool from a callable; `options` are those of `Tool`."""
        return FunctionTool(function, **options)

    @classmethod
    def from_schema(
        cls,
        name: str,
        schema: Mapping[str, Any],
        call: Callable[..., Any],
        *,
        description: str = "",
        **options: Unpack[CallOptions],
    ) -> Tool:
        """Makes a tool from a JSON schema and a callable.

        The arguments are validated against the schema before each call. In a model's call, values
        of a wrong type are converted where that is safe, and defaults are filled in.

        Args:
            name: as `Tool`.
            schema: the JSON schema of the arguments, of type ``object``.
            call: a function or coroutine function that takes the arguments as one dict. A parameter
                of type `ToolContext` is injected.
            description: for the model.
            **options: the other options of `Tool`.

        Raises:
            ValidationError: as `Tool`; or the schema is no JSON schema of an object
                (``schema_invalid``).

        Example:
            >>> schema = {"type": "object", "properties": {"city": {"type": "string"}}}
            >>> lookup = Tool.from_schema("lookup", schema, lambda given: given["city"].upper())
            >>> lookup.call({"city": "Lyon"})
            'LYON'
        """
        body: Any = SchemaBody(name, schema, call)
        return Tool(body, name=name, description=description, **options)

    @classmethod
    def from_native(cls, handle: NativeTool, **options: Unpack[ToolOptions]) -> Tool:
        """Makes a tool from a native one.

        Agents and ready systems call it without Python, unless it has the option `retry`.

        Args:
            handle: the native tool.
            **options: those of `Tool`. Default: what the native tool declares.

        Raises:
            ValidationError: as `Tool`.
        """
        body: Any = NativeBody(handle)
        return Tool(body, **{**body.options(), **options})

    @classmethod
    def from_any(cls, value: Any) -> Tool:
        """Takes a tool as it is, and makes one from a callable or a LangChain tool.

        Raises:
            ValidationError: it is none of these (``tool_function``), or `Tool`
                refuses it.
        """
        if isinstance(value, Tool):
            return value
        return Tool(value) if is_langchain_tool(value) else FunctionTool(value)

    @classmethod
    def collect(cls, values: Iterable[Any]) -> list[Tool]:
        """Makes tools of all values; `from_any` says of which.

        Raises:
            ValidationError: it is no list (``tool_function``), or two tools have the same name
                (``tool_duplicate``).
        """
        found: dict[str, Tool] = {}
        for made in map(cls.from_any, check_list(values)):
            if found.setdefault(made.name, made) is not made:
                raise ValidationError(
                    f"two tools have the same name: {made.name}",
                    code="tool_duplicate",
                    details={"name": made.name},
                    hint='rename one: `Tool(function, name="...")`, `Toolset(..., prefix="...")`',
                )
        return list(found.values())

    def with_options(self, **options: Unpack[ToolOptions]) -> Tool:
        """The same tool with other options, those of `Tool`; the others stay.

        Raises:
            ValidationError: as `Tool`.

        Example:
            >>> from antiphon import tool
            >>> @tool
            ... def delete(path: str) -> str:
            ...     return path
            >>> delete.with_options(approval=True).spec["approval"]
            'person'
        """
        check_keywords("`with_options`", options, KEYWORDS)
        own: Any = {option: getattr(self, option) for option in KEYWORDS}
        made = copy.copy(self)
        made._body = copy.copy(self._body)  # noqa: SLF001 - of the same class
        shares = all(own[option] == options.get(option, own[option]) for option in GATE_OPTIONS)
        made._set_options({**own, **options}, self.gate if shares else None)  # noqa: SLF001
        return made

    def ungated(self) -> Tool:
        """The tool for a caller that has passed its gate."""
        if self.gate is None or self.native is not None:
            return self
        made = copy.copy(self)
        made.gate = None
        return made

    @property
    def native(self) -> NativeBody | None:
        """The native tool that the engine calls; ``None`` if it calls Python."""
        is_native = isinstance(self._body, NativeBody) and self._retry is None
        return self._body if is_native else None  # type: ignore[return-value]

    @property
    def parameters(self) -> JsonSchema:
        """JSON schema of the arguments, an object; a copy."""
        return copy.deepcopy(self._body.parameters)

    @property
    def is_async(self) -> bool:
        """Whether `call` is known to return an awaitable; a sync function may return one too."""
        return self._body.is_async

    @property
    def context_type(self) -> Any:
        """The context that a run has to have for this tool; ``None`` if it needs none."""
        return self._body.context_type

    @property
    def spec(self) -> ToolSpec:
        """The tool as the engine and the model see it; times in seconds."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
            "results": copy.deepcopy(self._body.results),
            "side_effect": self.side_effect,
            "idempotent": self.idempotent,
            "cache": self.cache,
            "timeout": self.timeout,
            "max_concurrency": self.max_concurrency,
            "breaker": breaker_spec(self.breaker),
            "max_calls": self.max_calls,
            "approval": approval_kind(self.approval),
            "max_result": self.max_result,
        }

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Validates a model's arguments as `call` does, without calling the tool.

        A LangChain tool checks them only when it is called.

        Raises:
            ValidationError: as `call`.
        """
        check_arguments(self._body, self.name, arguments)
        self._body.check(arguments)

    def call(self, arguments: Mapping[str, Any], context: ToolContext | None = None) -> Any:
        """Calls the function with a model's arguments.

        Args:
            arguments: JSON values by parameter name; they become the annotated
                Python objects.
            context: for a parameter typed `ToolContext`.

        Returns:
            The result of the function, unchanged; an awaitable if it is async.

        Raises:
            ValidationError: an argument is missing, unknown or of the wrong type
                (``invalid_value``); the function has not run.
            ToolError: the function needs a context, or an instance, and has none;
                or a LangChain tool reports a failure; or the tool is async, and no event loop
                runs (``tool_async``).
        """
        found = self.start(arguments, context)
        return check_awaited(self.name, arguments, found) if self.is_async else found

    def start(self, arguments: Mapping[str, Any], context: ToolContext | None) -> Any:
        """`call` for an engine, which awaits what an async tool returns wherever it is called."""
        check_arguments(self._body, self.name, arguments)
        check_bound(self._body, self.name)
        if self.gate is None or isinstance(self._body, NativeBody):
            return self._invoke(arguments, context)
        gated = acall_gated if self.is_async else call_gated
        return gated(self.gate, self.name, lambda: self._invoke(arguments, context))

    def _invoke(self, arguments: Mapping[str, Any], context: ToolContext | None) -> Any:
        if self._retry is None:
            return self._body.invoke(arguments, context)
        return self._retry.call(lambda numbered: self._body.invoke(arguments, numbered), context)

    async def acall(self, arguments: Mapping[str, Any], context: ToolContext | None = None) -> Any:
        """`call` on the caller's event loop, within the time-out of the tool.

        A sync function runs on a thread. Arguments, result and errors are those of `call`.

        Raises:
            RunTimeout: it took longer than it may (``tool_timeout``).
        """
        check_arguments(self._body, self.name, arguments)
        return await acall_tool(self, arguments, context)

    def as_langchain(self) -> Any:
        """The tool for LangChain's agents and models, as a ``StructuredTool``.

        LangChain makes the calls: `timeout` and `retry` hold, and `max_calls`, `max_result`,
        `cache` and `side_effect` do not, because they are limits of antiphon's agents. Each call
        has a new id, and no context of a run.

        Raises:
            ValidationError: calls need approval, which LangChain would not ask for
                (``approval_unavailable``).
            ImportError: langchain-core is not installed.
        """
        return as_structured_tool(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class FunctionTool(Tool, Generic[_P, _R]):
    """A tool made from a callable; it can still be called like one.

    Its arguments are those of `Tool`. In a class body it is a method, and the
    tool taken from an instance is bound to that.
    """

    if TYPE_CHECKING:

        def __init__(self, function: Callable[_P, _R], **options: Unpack[ToolOptions]) -> None: ...

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Calls the function itself."""
        result: _R = self._body.function(*args, **kwargs)
        return result

    def __get__(self, instance: object, owner: type | None = None) -> FunctionTool[..., _R]:
        """Binds a method to its instance."""
        if instance is None or not self._body.is_method:
            return self
        method = types.MethodType(self._body.function, instance)
        bound = copy.copy(self)
        functools.update_wrapper(bound, method, updated=())
        bound._body = body_of(method, Tool)  # noqa: SLF001 - of the same class
        bound._body.name = self.name  # noqa: SLF001
        return bound
