"""The exception tree: what a user catches, reads, pickles."""

from __future__ import annotations

import copy
import inspect
import pickle
import traceback

import pytest

from antiphon import errors
from antiphon._faults import BY_CATEGORY, FaultRecord, from_fault
from antiphon.errors import (
    AntiphonError,
    BudgetError,
    InternalError,
    ModelTransportError,
    RunTimeout,
    StateError,
    ToolError,
)
from antiphon.graph import (
    EmptyInputError,
    GraphBubbleUp,
    GraphInterrupt,
    GraphRecursionError,
    InvalidUpdateError,
    NodeTimeoutError,
)

FAULT: FaultRecord = {
    "category": "model_transport",
    "code": "model_unreachable",
    "message": "the model could not be reached: openai:gpt-5-mini",
    "hint": "check the network",
    "details": {"status": 503},
}
GRAPH_CODES = {
    "graph_recursion_limit": GraphRecursionError,
    "invalid_update": InvalidUpdateError,
    "empty_input": EmptyInputError,
    "node_timeout": NodeTimeoutError,
}
EVERY_CLASS = [*BY_CATEGORY.values(), *GRAPH_CODES.values()]


def test_a_fault_becomes_the_class_of_its_category_with_all_its_fields() -> None:
    error = from_fault(FAULT)
    assert type(error) is ModelTransportError
    assert (error.category, error.code, error.hint) == (
        "model_transport",
        "model_unreachable",
        "check the network",
    )
    assert error.message == FAULT["message"]
    assert error.details == {"status": 503}


def test_a_fault_without_advice_has_neither_hint_nor_details() -> None:
    error = from_fault({"category": "tool", "code": "c", "message": "m"})
    assert (error.hint, error.details, str(error)) == (None, {}, "m")


def test_a_category_from_the_future_is_internal_and_named() -> None:
    error = from_fault({"category": "weather", "code": "rain", "message": "m"})
    assert type(error) is InternalError
    assert error.details == {"category": "weather"}


def test_the_advice_stands_on_a_separate_line() -> None:
    error = ToolError("the city is unknown: Atlantis", code="unknown_city", hint="name a real one")
    assert str(error) == "the city is unknown: Atlantis\nhint: name a real one"


def test_a_traceback_shows_the_code_and_where_its_page_is() -> None:
    error = ToolError("the city is unknown: Atlantis", code="unknown_city", hint="name a real one")
    assert traceback.format_exception_only(error)[-1] == "code: unknown_city, see docs/errors\n"
    assert "unknown_city" not in str(error)


def test_details_stay_out_of_what_people_see() -> None:
    error = ToolError("no", code="c", details={"token": "hunter2"})
    shown = [str(error), repr(error), *traceback.format_exception(error)]
    assert "hunter2" not in "".join(shown)


def test_the_details_are_a_copy_of_what_was_given() -> None:
    given = {"tries": 1}
    error = ToolError("no", code="c", details=given)
    given["tries"] = 2
    assert error.details == {"tries": 1}


@pytest.mark.parametrize("kind", EVERY_CLASS)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_every_error_survives_pickle(kind: type[AntiphonError], protocol: int) -> None:
    error = kind("the value: 7", code="c", details={"node": "a"}, hint="h")
    error.add_note("in node: a")
    again = pickle.loads(pickle.dumps(error, protocol))
    assert type(again) is kind
    assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


def test_every_error_survives_copy() -> None:
    error = copy.deepcopy(StateError("m", code="c", details={"keys": ["a"]}))
    assert (error.message, error.code, error.details) == ("m", "c", {"keys": ["a"]})


def test_the_tree_holds_one_class_for_each_category() -> None:
    assert classes() - sandboxed() == set(BY_CATEGORY.values())
    assert all(BY_CATEGORY[kind.category] is kind for kind in BY_CATEGORY.values())


def test_each_failure_of_a_sandbox_is_caught_by_its_category_too() -> None:
    for kind in sandboxed() - {errors.SandboxError}:
        assert issubclass(kind, BY_CATEGORY[kind.category]), kind


def test_the_tree_is_drawn_as_it_is() -> None:
    drawing = errors.__doc__ or ""
    drawn = [line.split("── ")[1].split()[0] for line in drawing.splitlines() if "── " in line]
    whole = [kind.__name__ for kind in BY_CATEGORY.values()]
    assert drawn[: len(whole) + 1] == [*whole, "SandboxError"]
    assert sorted(drawn[len(whole) :]) == sorted(kind.__name__ for kind in sandboxed())


def classes() -> set[type[AntiphonError]]:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    return {kind for kind in kinds if issubclass(kind, AntiphonError)} - {AntiphonError}


def sandboxed() -> set[type[AntiphonError]]:
    return {kind for kind in classes() if issubclass(kind, errors.SandboxError)}


def test_the_names_that_would_shadow_builtins_are_not_taken() -> None:
    assert not set(errors.__all__) & set(dir(__builtins__))


def test_a_recursion_limit_is_caught_as_langgraph_users_catch_it() -> None:
    with pytest.raises(RecursionError) as caught:
        raise GraphRecursionError("no superstep is left: 25")
    assert isinstance(caught.value, BudgetError)
    assert caught.value.code == "graph_recursion_limit"


def test_a_node_timeout_carries_its_figures_and_is_no_oserror() -> None:
    details = {"node": "slow", "kind": "idle", "elapsed": 2.5, "timeout": 2.0, "idle_timeout": 2.0}
    error = NodeTimeoutError("the node took too long: slow", details=details)
    assert isinstance(error, RunTimeout)
    assert not isinstance(error, OSError)
    assert (error.node, error.kind, error.elapsed, error.timeout) == ("slow", "idle", 2.5, 2.0)
    assert (error.run_timeout, error.idle_timeout) == (None, 2.0)


def test_a_pause_is_no_error_and_carries_its_questions() -> None:
    pause = GraphInterrupt(["how many?"])
    assert isinstance(pause, GraphBubbleUp)
    assert not isinstance(pause, AntiphonError)
    assert pause.interrupts == ("how many?",)
    assert GraphInterrupt().interrupts == ()
    again = pickle.loads(pickle.dumps(pause))
    assert again.interrupts == pause.interrupts


@pytest.mark.parametrize("code", GRAPH_CODES)
def test_a_graph_error_has_a_code_unless_it_is_given_one(code: str) -> None:
    assert GRAPH_CODES[code]("message").code == code
    assert GRAPH_CODES[code]("message", code="other").code == "other"
