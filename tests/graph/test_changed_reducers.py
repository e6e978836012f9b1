"""A thread that is read by a version of the app with another reducer of a key."""

import itertools
import operator
from typing import Annotated, Any

import pytest

from support.oracle import Impl, Run
from support.states import Update, typed

ONE = {"configurable": {"thread_id": "1"}}


def _joined(old: list[int], new: list[int]) -> list[int]:
    return [*old, *new]


def _latest(old: list[int], new: list[int]) -> list[int]:
    return new


REDUCERS = {"none": None, "add": operator.add, "joined": _joined, "latest": _latest}


def _app(impl: Impl, saver: Any, reducer: Any) -> Any:
    def node(state: Any) -> Update:
        return {"x": [len(state["x"])]}

    key = list if reducer is None else Annotated[list, reducer]
    return impl.sequence(typed(x=key), node, checkpointer=saver)


@pytest.mark.parametrize(("former", "declared"), list(itertools.permutations(REDUCERS, 2)))
def test_the_stored_value_stays_and_the_next_write_is_merged_by_the_new_reducer(
    impl: Impl, run: Run, former: str, declared: str
) -> None:
    saver = impl.MemorySaver()
    first = _app(impl, saver, REDUCERS[former])
    for turn in range(3):
        stored = run(first, {"x": [-turn]}, ONE)["x"]
    second = _app(impl, saver, REDUCERS[declared])
    assert second.get_state(ONE).values == {"x": stored}
    after_input = [*stored, -3] if declared in {"add", "joined"} else [-3]
    ended = (
        [*after_input, len(after_input)] if declared in {"add", "joined"} else [len(after_input)]
    )
    assert run(second, {"x": [-3]}, ONE)["x"] == ended
    assert [state.values.get("x") for state in second.get_state_history(ONE)][2] == stored


def test_a_conversation_becomes_one_of_add_messages(impl: Impl, run: Run) -> None:
    messages = pytest.importorskip("langchain_core.messages")

    def app(reducer: Any) -> Any:
        def answer(state: Any) -> Update:
            return {"messages": [messages.AIMessage(f"reply {len(state['messages'])}")]}

        schema = typed(messages=Annotated[list, reducer])
        return impl.sequence(schema, answer, checkpointer=saver)

    def texts(state: dict[str, Any]) -> list[str]:
        return [message.content for message in state["messages"]]

    saver = impl.MemorySaver()
    for turn in range(2):
        run(app(operator.add), {"messages": [messages.HumanMessage(f"q{turn}")]}, ONE)
    stored = ["q0", "reply 1", "q1", "reply 3"]
    assert texts(app(impl.add_messages).get_state(ONE).values) == stored
    ended = run(app(impl.add_messages), {"messages": [messages.HumanMessage("q2")]}, ONE)
    assert texts(ended) == [*stored, "q2", "reply 5"]
