"""Tools: what a model sees of a function, and how a call reaches it."""

from __future__ import annotations

import asyncio
import functools
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional, cast

import jsonschema
import pydantic
import pytest
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, ToolException
from langchain_core.tools import tool as langchain_tool
from langchain_core.utils.function_calling import convert_to_openai_tool

import antiphon
from antiphon import Agent
from antiphon.errors import AntiphonError, ToolError, ValidationError
from antiphon.models import scripted
from antiphon.tools import FunctionTool, Tool, ToolContext, calculator, tool

if TYPE_CHECKING:
    from decimal import Decimal as OnlyForCheckers

CONTEXT = ToolContext(name="t", call_id="call_1", idempotency_key="run/t/1/0")


@dataclass
class Place:
    city: str
    country: str = "FR"


class Order(pydantic.BaseModel):
    lines: list[int]


@tool
def population(city: str, *, year: int | None = None, rounded: bool = False) -> int:
    """Number of inhabitants.

    Counted, not estimated.

    Args:
        city: the city's
            English name.
        year: of the census.
    """
    return len(city) + (year or 0) + int(rounded)


@tool(name="book-it", side_effect="write", timeout=2, max_calls=3, max_result=100, idempotent=True)
async def book(place: Place, day: date, order: Order, call: ToolContext) -> str:
    return f"{place.city} {place.country} {day.year} {order.lines} {call.call_id}"


def described(description: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**schema, "description": description, **more}


def test_a_bare_decorator_makes_a_tool_from_hints_and_docstring() -> None:
    assert population.spec == {
        "name": "population",
        "description": "Number of inhabitants.\n\nCounted, not estimated.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "the city's English name."},
                "year": {
                    "anyOf": [{"type": "integer"}, {"type": "null"}],
                    "description": "of the census.",
                    "default": None,
                },
                "rounded": {"type": "boolean", "default": False},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
        "results": {"type": "integer"},
        "side_effect": "external",
        "idempotent": False,
        "cache": None,
        "approval": "none",
        "timeout": None,
        "max_concurrency": None,
        "breaker": None,
        "max_calls": None,
        "max_result": 20_000,
    }
    jsonschema.Draft202012Validator.check_schema(population.parameters)


def test_the_hint_of_the_result_declares_it() -> None:
    def search(query: str) -> list[Place]:
        return [Place(query)]

    def opaque(query: str) -> subprocess.Popen[str]:
        raise NotImplementedError(query)

    def anything(query: str) -> Any:
        return query

    declared = Tool(search).spec["results"]
    assert declared is not None
    assert declared["type"] == "array"
    assert declared["items"]["properties"]["city"] == {"type": "string"}
    assert Tool(opaque).spec["results"] is None
    assert Tool(anything).spec["results"] is None


def test_a_decorated_function_is_still_a_function() -> None:
    assert population("Lyon", year=2000) == 2004
    assert population.__name__ == "population"  # type: ignore[attr-defined]
    assert (population.__doc__ or "").startswith("Number of inhabitants.")
    assert population.__module__ == __name__
    assert callable(population.__wrapped__)  # type: ignore[attr-defined]
    assert repr(population) == "FunctionTool('population')"
    assert not population.is_async


def test_a_decorator_with_arguments_sets_the_knobs() -> None:
    spec = book.spec
    assert spec["name"] == "book-it"
    assert (spec["side_effect"], spec["idempotent"]) == ("write", True)
    assert (spec["timeout"], spec["max_calls"], spec["max_result"]) == (2.0, 3, 100)
    assert book.is_async
    assert set(spec["parameters"]["properties"]) == {"place", "day", "order"}


def test_a_call_constructs_arguments_and_injects_the_context() -> None:
    arguments = {"place": {"city": "Lyon"}, "day": "2026-01-02", "order": {"lines": [1]}}
    assert asyncio.run(book.acall(arguments, CONTEXT)) == "Lyon FR 2026 [1] call_1"
    assert arguments["day"] == "2026-01-02"


def test_a_call_without_the_context_it_needs_is_refused() -> None:
    arguments = {"place": {"city": "Lyon"}, "day": "2026-01-02", "order": {"lines": [1]}}
    with pytest.raises(ToolError, match="book") as caught:
        book.call(arguments)
    assert caught.value.code == "tool_context"


def test_a_context_with_a_default_may_be_missing() -> None:
    def plain(a: int, call: Optional[ToolContext] = None) -> str:  # noqa: UP045
        return f"{a} {call.attempt if call else '-'}"

    made = Tool.from_callable(plain)
    assert set(made.parameters["properties"]) == {"a"}
    assert made.call({"a": 1}) == "1 -"
    assert made.call({"a": 1}, CONTEXT) == "1 1"
    with pytest.raises(ValidationError):
        made.call({"a": 1, "call": {"attempt": 9}})


def test_a_context_does_not_change() -> None:
    with pytest.raises(AttributeError):
        CONTEXT.attempt = 2  # type: ignore[misc]
    assert CONTEXT.deadline is None
    assert ToolContext(
        name="t", call_id="", idempotency_key="", deadline=datetime.now(UTC)
    ).deadline


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "`city` is missing: {}"),
        ({"city": 1}, "`city` should be text: 1"),
        ({"city": "x", "town": "y"}, "`town` is unknown: 'y'"),
        ({"city": "x", "year": "now"}, "`year` should be a whole number or null: 'now'"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        population.call(arguments)
    assert caught.value.message == f"the arguments of tool `population` do not fit: {message}"
    assert caught.value.code == "invalid_value"
    assert caught.value.details["tool"] == "population"


def test_defaults_are_the_functions_own() -> None:
    marker = object()

    def plain(a: Any = marker, b: list[int] = [1]) -> Any:  # noqa: B006
        return a, b

    made = Tool.from_callable(plain)
    assert made.parameters["properties"] == {
        "a": {},
        "b": {"type": "array", "items": {"type": "integer"}, "default": [1]},
    }
    assert made.call({})[0] is marker


def test_a_default_of_none_allows_null() -> None:
    def plain(a: int = None, b: Annotated[int, "text"] = None) -> Any:  # type: ignore[assignment]  # noqa: RUF013
        return a, b

    made = Tool.from_callable(plain)
    anything = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
    assert made.parameters["properties"] == {"a": anything, "b": described("text", anything)}
    assert made.call({"a": None}) == (None, None)


def test_the_hint_wins_over_the_docstring() -> None:
    def plain(
        a: Annotated[int, "hint"], b: Annotated[int, pydantic.Field(description="field")], c: int
    ) -> None:
        """Does.

        :param a: docstring
        :param b: docstring
        :param c: docstring
        """

    properties = Tool.from_callable(plain).parameters["properties"]
    assert [properties[name]["description"] for name in "abc"] == ["hint", "field", "docstring"]


def test_a_pydantic_field_may_stand_as_the_default() -> None:
    def plain(
        a: int = pydantic.Field(description="needed", ge=1),
        b: int = pydantic.Field(3, le=5),
        c: Annotated[int, pydantic.Field(default=4)] = 6,
    ) -> tuple[int, int, int]:
        return a, b, c

    made = Tool.from_callable(plain)
    assert made.parameters["required"] == ["a"]
    assert made.parameters["properties"] == {
        "a": {"type": "integer", "minimum": 1, "description": "needed"},
        "b": {"type": "integer", "maximum": 5, "default": 3},
        "c": {"type": "integer", "default": 6},
    }
    assert made.call({"a": 1}) == (1, 3, 6)
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        made.call({"a": 0})


def test_a_parameter_without_a_hint_takes_anything() -> None:
    def plain(a, b=1):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return a, b

    made = Tool.from_callable(plain)
    assert made.parameters["properties"] == {"a": {}, "b": {"default": 1}}
    assert made.call({"a": [1]}) == ([1], 1)


class Weather:
    """Looks at the sky."""

    def __init__(self, city: str) -> None:
        self.city = city

    def __call__(self, day: int) -> str:
        return f"{self.city} {day}"

    async def later(self, day: int) -> str:
        """Looks later."""
        return f"{self.city} {day}"

    @tool(side_effect="read", name="of_week")
    def week(self, number: int) -> str:
        """Looks at a week."""
        return f"{self.city} week {number}"

    @staticmethod
    def fixed(day: int) -> str:
        return f"fixed {day}"

    @tool
    @staticmethod
    def inner(day: int) -> str:
        return f"inner {day}"

    @classmethod
    def made(cls, day: int) -> str:
        return f"{cls.__name__} {day}"


def keyed(key: str, day: int, unit: str = "C") -> str:
    """Looks with a key."""
    return f"{key} {day} {unit}"


@pytest.mark.parametrize(
    ("function", "name", "description", "expected"),
    [
        (Weather("Lyon"), "weather", "Looks at the sky.", "Lyon 1"),
        (Weather.fixed, "fixed", "", "fixed 1"),
        (Weather.made, "made", "", "Weather 1"),
        (Weather.inner, "inner", "", "inner 1"),
        (functools.partial(keyed, "secret"), "keyed", "Looks with a key.", "secret 1 C"),
        (functools.partial(keyed, key="secret"), "keyed", "Looks with a key.", "secret 1 C"),
        (
            functools.partial(functools.partial(keyed, "k"), unit="F"),
            "keyed",
            "Looks with a key.",
            "k 1 F",
        ),
    ],
)
def test_any_callable_is_a_tool(
    function: Callable[..., Any], name: str, description: str, expected: str
) -> None:
    made = Tool.from_any(function)
    assert (made.name, made.description) == (name, description)
    assert made.parameters["properties"]["day"] == {"type": "integer"}
    assert made.call({"day": 1}) == expected


def test_what_a_partial_has_filled_is_neither_shown_nor_settable() -> None:
    made = Tool.from_callable(functools.partial(keyed, key="secret"))
    assert "secret" not in str(made.spec)
    with pytest.raises(ValidationError, match="`key` is unknown"):
        made.call({"key": "other", "day": 1})


def test_a_bound_coroutine_method_is_asynchronous() -> None:
    made = Tool.from_any(Weather("Lyon").later)
    assert made.is_async
    assert asyncio.run(made.acall({"day": 2})) == "Lyon 2"


def test_a_decorated_method_belongs_to_its_instance() -> None:
    made = Weather("Lyon").week
    assert made.spec["name"] == "of_week"
    assert made.spec["side_effect"] == "read"
    assert set(made.parameters["properties"]) == {"number"}
    assert made.call({"number": 1}) == "Lyon week 1"
    assert made(2) == "Lyon week 2"


def test_a_method_without_its_instance_is_refused() -> None:
    unbound = cast("Tool", Weather.week)
    with pytest.raises(ToolError) as caught:
        unbound.call({"number": 1})
    assert caught.value.code == "tool_unbound"


def test_a_function_that_returns_an_awaitable_passes_it_on() -> None:
    def plain(a: int) -> Awaitable[int]:
        async def later() -> int:
            return a

        return later()

    assert asyncio.run(Tool.from_callable(plain).call({"a": 3})) == 3


def test_a_wrapped_function_keeps_its_signature() -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return inner

    made = Tool.from_callable(logged(keyed))
    assert made.parameters["required"] == ["key", "day"]
    assert made.call({"key": "k", "day": 1}) == "k 1 C"


def test_attributes_of_the_function_do_not_reach_the_tool() -> None:
    def plain(a: int) -> int:
        return a

    plain.name = "other"  # type: ignore[attr-defined]
    plain.mark = 1  # type: ignore[attr-defined]
    made = Tool.from_callable(plain)
    assert made.name == "plain"
    assert made.mark == 1  # type: ignore[attr-defined]


def starred(*values: int) -> None: ...
def keyworded(**values: int) -> None: ...
def positional(a: int, /) -> None: ...
def many() -> Iterator[int]:
    yield 1


def odd_type(a: complex) -> None: ...
def missing_type(a: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def hidden_type(b: int, a: OnlyForCheckers) -> None: ...


def class_method_of(cls: int) -> None: ...


class_method_of.__qualname__ = "Thing.class_method_of"


@pytest.mark.parametrize(
    ("value", "code", "words"),
    [
        (starred, "tool_parameter", ["starred", "values"]),
        (keyworded, "tool_parameter", ["keyworded", "values"]),
        (positional, "tool_parameter", ["positional", "`a`"]),
        (many, "tool_function", ["many"]),
        (Place, "tool_function", ["Place"]),
        (3, "tool_function", ["int"]),
        (print, "tool_parameter", ["print"]),
        (dict.get, "tool_parameter", ["get"]),
        (class_method_of, "tool_function", ["class_method_of"]),
        (odd_type, "unsupported_type", ["`a`", "odd_type", "complex"]),
        (missing_type, "unresolved_type", ["`a`", "missing_type", "Missing"]),
        (hidden_type, "unresolved_type", ["`a`", "hidden_type", "OnlyForCheckers"]),
        (lambda: 1, "tool_name", ["<lambda>"]),
    ],
)
def test_what_cannot_be_a_tool_is_refused_by_name(value: Any, code: str, words: list[str]) -> None:
    with pytest.raises(ValidationError) as caught:
        Tool.from_any(value)
    assert caught.value.code == code
    assert caught.value.hint
    for word in words:
        assert word in caught.value.message


@pytest.mark.parametrize("name", ["", "a b", "é", "x" * 65, "a.b", "a\n", 5])
def test_a_name_that_providers_refuse_is_refused(name: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        Tool(keyed, name=name)
    assert caught.value.code == "tool_name"


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"timeout": -1.5},
        {"timeout": float("inf")},
        {"timeout": float("nan")},
        {"timeout": "5"},
        {"timeout": True},
        {"max_calls": 0},
        {"max_calls": 1.5},
        {"max_calls": 2**32},
        {"max_calls": True},
        {"max_result": 0},
        {"max_result": None},
        {"side_effect": "reads"},
        {"side_effect": None},
        {"idempotent": 1},
        {"description": 3},
    ],
    ids=str,
)
def test_a_wrong_option_is_named(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        Tool(keyed, **options)
    assert caught.value.code == "tool_option"
    assert f"`{next(iter(options))}` of tool `keyed`" in caught.value.message


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"retries\nhint: did you mean `retry`") as caught:
        tool(retries=3)(keyed)  # type: ignore[call-overload]
    assert caught.value.code == "call_invalid"


def test_two_tools_of_one_name_are_refused() -> None:
    assert [made.name for made in Tool.collect([population, keyed])] == ["population", "keyed"]
    assert Tool.collect([population, population]) == [population]
    with pytest.raises(ValidationError, match="two tools have the same name: keyed") as caught:
        Tool.collect([keyed, Tool(population.__wrapped__, name="keyed")])  # type: ignore[attr-defined]
    assert caught.value.code == "tool_duplicate"


def test_a_tool_is_taken_as_it_is() -> None:
    assert Tool.from_any(population) is population
    assert isinstance(Tool.from_any(keyed), FunctionTool)


def test_changing_a_spec_does_not_change_the_tool() -> None:
    population.spec["parameters"]["properties"].clear()
    population.parameters["properties"].clear()
    assert population.parameters["properties"]


def test_a_local_type_used_by_the_function_resolves() -> None:
    @dataclass
    class Local:
        a: int

    @tool
    def uses(local: Local) -> int:
        assert isinstance(local, Local)
        return local.a

    assert uses.call({"local": {"a": 4}}) == 4


# LangChain


@langchain_tool
def multiply(a: int, b: int = 2) -> int:
    """Multiplies."""
    return a * b


@langchain_tool
async def later(a: int) -> str:
    """Waits."""
    return f"later {a}"


@langchain_tool
def injected(a: int, call_id: Annotated[str, InjectedToolCallId]) -> str:
    """Knows its call."""
    return f"{a} {call_id}"


def failing(a: int) -> str:
    """Fails."""
    message = "said no"
    raise ToolException(message)


class OwnTool(BaseTool):
    name: str = "own"
    description: str = "By class."

    def _run(self, a: int) -> str:
        return f"sync {a}"

    async def _arun(self, a: int) -> str:
        return f"async {a}"


def test_a_langchain_tool_keeps_its_own_words() -> None:
    made = Tool.from_any(multiply)
    assert (made.name, made.description, made.is_async) == ("multiply", "Multiplies.", False)
    assert set(made.parameters["properties"]) == {"a", "b"}
    assert made.parameters["required"] == ["a"]
    jsonschema.Draft202012Validator.check_schema(made.parameters)
    assert made.call({"a": 3}) == "6"
    assert Tool(multiply, name="times", side_effect="none").spec["name"] == "times"  # type: ignore[arg-type]


def test_an_asynchronous_langchain_tool_is_awaited() -> None:
    for lang, expected in ((later, "later 1"), (OwnTool(), "async 1")):
        made = Tool.from_any(lang)
        assert made.is_async
        assert asyncio.run(made.acall({"a": 1})) == expected


def test_what_langchain_injects_is_hidden_and_filled() -> None:
    made = Tool.from_any(injected)
    assert set(made.parameters["properties"]) == {"a"}
    assert made.call({"a": 1}, CONTEXT) == "1 call_1"


def test_a_langchain_tool_that_says_no_is_a_tool_error() -> None:
    handled = Tool.from_any(StructuredTool.from_function(failing, handle_tool_error=True))
    with pytest.raises(ToolError, match="said no") as caught:
        handled.call({"a": 1})
    assert caught.value.code == "tool_failed"
    raising = Tool.from_any(StructuredTool.from_function(failing))
    with pytest.raises(ToolException, match="said no"):
        raising.call({"a": 1})


def test_a_langchain_tool_with_a_plain_schema_keeps_it() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    lang = StructuredTool(
        name="raw", description="Raw.", args_schema=schema, func=lambda **given: str(given)
    )
    made = Tool.from_any(lang)
    assert made.parameters == schema
    assert made.call({"q": "x"}) == "{'q': 'x'}"


def test_artifacts_of_a_tool_are_not_shown_to_the_model() -> None:
    @langchain_tool(response_format="content_and_artifact")
    def both(a: int) -> tuple[str, object]:
        """Gives both."""
        return f"content {a}", object()

    assert Tool.from_any(both).call({"a": 1}) == "content 1"


# Without anything installed


def test_everything_works_without_third_party_packages() -> None:
    script = """
import sys
before = set(sys.modules)
from dataclasses import dataclass
from typing import Annotated, Literal
from antiphon.tools import Tool, ToolContext, tool
from antiphon._json_values import encode_result

@dataclass
class Place:
    city: str

@tool
def where(place: Place, how: Annotated[Literal["a", "b"], "which"] = "a") -> dict:
    '''Finds.'''
    return {"city": place.city, "place": place}

lyon = {"city": "Lyon"}
assert encode_result(where.call({"place": lyon})) == {**lyon, "place": lyon}
assert where.parameters["properties"]["how"]["description"] == "which"
roots = {name.partition(".")[0] for name in set(sys.modules) - before}
foreign = roots - set(sys.stdlib_module_names) - {"antiphon", "__main__"}
assert not foreign, foreign
for heavy in ("asyncio", "pydantic", "langchain_core", "numpy", "pandas", "uuid", "decimal"):
    assert heavy not in sys.modules, heavy
"""
    root = Path(next(iter(antiphon.__path__))).parent
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-E",
            "-s",
            "-c",
            f"import sys; sys.path.insert(0, {str(root)!r})\n{script}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_refusal_is_one_of_ours() -> None:
    assert issubclass(ValidationError, AntiphonError)
    assert issubclass(ToolError, AntiphonError)


def check_types() -> None:
    """Read by mypy: a decorated function keeps its types."""
    number: int = population("Lyon")
    text: Awaitable[str] = book(Place("x"), date.today(), Order(lines=[]), CONTEXT)  # noqa: DTZ011
    kind: Literal["FunctionTool"] = type(population).__name__  # type: ignore[assignment]
    del number, text, kind


def test_langchain_takes_a_tool_of_ours() -> None:
    made = population.as_langchain()
    assert isinstance(made, BaseTool)
    assert (made.name, made.description) == ("population", population.description)
    assert made.invoke({"city": "Lyon", "year": 2000}) == 2004
    assert asyncio.run(made.ainvoke({"city": "Lyon"})) == 4
    assert convert_to_openai_tool(made)["function"]["parameters"] == population.parameters
    call = {"type": "tool_call", "id": "1", "name": "population", "args": {"city": "Lyon"}}
    assert made.invoke(call).content == "4"
    with pytest.raises(ValidationError, match="`town` is unknown"):
        made.invoke({"town": "Lyon"})


def test_langchain_takes_an_async_tool_and_one_with_a_context() -> None:
    arguments = {"place": {"city": "Lyon"}, "day": "2026-01-02", "order": {"lines": [1]}}
    made = book.as_langchain()
    assert asyncio.run(made.ainvoke(arguments)).startswith("Lyon FR 2026 [1] ")
    assert made.invoke(arguments).startswith("Lyon FR 2026 [1] ")


def test_a_tool_that_needs_approval_is_not_for_langchain() -> None:
    with pytest.raises(ValidationError, match="LangChain does not ask") as caught:
        tool(approval=True)(keyed).as_langchain()
    assert caught.value.code == "approval_unavailable"


def test_a_time_out_of_the_tools_own_stays_what_it_is() -> None:
    @tool(timeout=30)
    def ask() -> None:
        raise TimeoutError("the server")

    with pytest.raises(TimeoutError, match="the server"):
        ask.as_langchain().invoke({})
    with pytest.raises(TimeoutError, match="the server"):
        asyncio.run(ask.as_langchain().ainvoke({}))


def test_arguments_that_are_no_dict_are_refused_with_the_dict_to_write() -> None:
    for given, hint in [("Lyon", """write `.call({"city": 'Lyon'})`"""), (None, '"city": "…"')]:
        arguments: Any = given
        for call in (population.call, population.check):
            with pytest.raises(ValidationError, match="tool `population` must be a dict") as caught:
                call(arguments)
            assert caught.value.code == "invalid_value"
            assert hint in str(caught.value.hint)
        with pytest.raises(ValidationError, match="must be a dict"):
            asyncio.run(population.acall(arguments))
        with pytest.raises(ValidationError, match="tool `calculate` must be a dict"):
            calculator().call(arguments)


def test_an_async_tool_is_not_called_where_nothing_can_await_it() -> None:
    made = Tool.from_any(Weather("Lyon").later)
    with pytest.raises(ToolError, match="no event loop runs: later") as caught:
        made.call({"day": 2})
    assert caught.value.code == "tool_async"
    assert "asyncio.run(later.acall({'day': 2}))" in str(caught.value.hint)

    async def inside() -> Any:
        return await made.call({"day": 2})

    assert asyncio.run(inside()) == "Lyon 2"


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_a_tool_that_ends_the_program_tells_the_model_nothing(kind: type[BaseException]) -> None:
    @tool
    def leave() -> str:
        """Leave."""
        raise kind("fatal")

    model = scripted([{"tool_calls": [{"name": "leave", "arguments": {}}]}, "I left."])
    with pytest.raises(kind, match="fatal"):
        Agent(model, tools=[leave]).run("Leave.")
    assert len(model.requests) == 1


def test_a_tool_that_awaited_something_cancelled_is_told_to_the_model() -> None:
    @tool
    async def look() -> str:
        """Look."""
        raise asyncio.CancelledError

    model = scripted([{"tool_calls": [{"name": "look", "arguments": {}}]}, "It did not work."])
    assert Agent(model, tools=[look]).run("Look.").answer == "It did not work."


def test_a_failing_model_is_not_called_a_late_failure(caplog: pytest.LogCaptureFixture) -> None:
    def fails(_: Any) -> str:
        raise ValueError("no model today")

    with pytest.raises(ValueError, match="no model today"):
        Agent(fails).run("q")
    assert "after it was cancelled" not in caplog.text
