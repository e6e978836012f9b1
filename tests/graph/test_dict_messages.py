"""Streams of messages where LangChain is not there: messages are dicts."""

import subprocess
import sys

SCRIPT = """
import sys
from antiphon.graph import START, MessagesState, StateGraph

reply = {"role": "assistant", "content": "hello"}
builder = StateGraph(MessagesState).add_node("n", lambda s: {"messages": [*s["messages"], reply]})
graph = builder.add_edge(START, "n").compile()
start = {"messages": [{"role": "user", "content": "hi", "id": "0"}]}
shown = list(graph.stream(start, {"metadata": {"mine": 1}}, stream_mode=["messages", "values"]))
[(message, metadata)] = [chunk for mode, chunk in shown if mode == "messages"]
assert message["content"] == "hello", message
assert shown[-1][1]["messages"][-1]["id"] == message["id"], shown
assert (metadata["langgraph_node"], metadata["mine"]) == ("n", 1), metadata
assert not any(name.startswith("langchain") for name in sys.modules)
"""


def test_a_new_message_shows_with_the_id_that_the_state_holds() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
