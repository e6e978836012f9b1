"""Values and graphs that change, secrets, and many runs at once."""

from __future__ import annotations

import asyncio
import gc
import logging
import operator
import resource
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest

from antiphon import Agent, Orchestrator, models, tool
from antiphon.checkpoint import MemorySaver, PostgresSaver, Saver, SqliteSaver
from antiphon.errors import AntiphonError
from antiphon.graph import START, Command, StateGraph, interrupt
from antiphon.models import scripted
from support.threads import config, open_saver
from support.torture import rounds

if TYPE_CHECKING:
    from antiphon.graph import CompiledGraph
    from support.postgres import Server

SECRET = "~sk-Hunter2-3f9c1b7a"


class State(TypedDict, total=False):
    """A list that grows, and anything."""

    log: Annotated[list[Any], operator.add]
    value: Any


class TestChangedValues:
    """A node keeps what it has returned, and changes it while that is on its way to the store."""

    @pytest.mark.parametrize("durability", ["sync", "async", "exit"])
    def test_what_is_stored_is_what_was_returned(self, url: str, durability: Any) -> None:
        returned: list[dict[str, Any]] = []

        def first(state: State) -> State:
            del state
            returned.append({"deep": [{"number": 1}], "bytes": bytearray(b"as returned")})
            return {"value": returned[0], "log": returned}

        def second(state: State) -> State:
            del state
            returned[0]["deep"][0]["number"] = 2
            returned[0]["bytes"][:] = b"changed"
            returned.append({})
            return {"log": ["second"]}

        builder = StateGraph(State).add_node("first", first).add_node("second", second)
        builder.add_node("ask", lambda _: {"log": [interrupt("?")]})
        builder.add_edge(START, "first").add_edge("first", "second").add_edge("second", "ask")
        with open_saver(url) as saver:
            builder.compile(saver).invoke({}, config("t"), durability=durability)
        with open_saver(url) as saver:
            held = list(builder.compile(saver).get_state_history(config("t")))
        as_returned = {"deep": [{"number": 1}], "bytes": bytearray(b"as returned")}
        checked = 0
        for snapshot in held:
            if "value" in snapshot.values and durability != "exit":
                assert snapshot.values["value"] == as_returned
                assert snapshot.values["log"][0] == as_returned
                assert snapshot.values["log"][1:] in ([], ["second"])
                checked += 1
        assert checked == (0 if durability == "exit" else 2)


class TestChangedGraphs:
    """A graph is another one when its thread continues."""

    @staticmethod
    def paused(saver: Saver) -> CompiledGraph:
        builder = StateGraph(State).add_node("before", lambda _: {"log": ["before"]})
        builder.add_node("asker", lambda _: {"log": [interrupt("sure?")]})
        graph = builder.add_edge(START, "before").add_edge("before", "asker").compile(saver)
        graph.invoke({}, config("t"))
        return graph

    @pytest.mark.parametrize("name", [None, "asker_2"])
    def test_a_node_that_a_thread_waits_in_is_missed_by_its_name(
        self, url: str, name: str | None
    ) -> None:
        with open_saver(url) as saver:
            old = self.paused(saver)
            builder = StateGraph(State).add_node("before", lambda _: {"log": ["before"]})
            builder.add_edge(START, "before")
            if name is not None:
                builder.add_node(name, lambda _: {"log": []}).add_edge("before", name)
            new = builder.compile(saver)
            for given in (Command(resume="yes"), None, {"log": ["again"]}):
                with pytest.raises(AntiphonError, match="asker") as raised:
                    new.invoke(given, config("t"))
                assert raised.value.code == "checkpoint_misfit"
                assert raised.value.hint
            # Nothing was lost by trying.
            assert new.get_state(config("t")).values == {"log": ["before"]}
            done = old.invoke(Command(resume="yes"), config("t"))
            assert done == {"log": ["before", "yes"]}

    def test_a_node_with_open_work_that_is_gone_can_be_passed_over(self, url: str) -> None:
        with open_saver(url) as saver:
            self.paused(saver)
            builder = StateGraph(State).add_node("before", lambda _: {"log": ["before"]})
            new = builder.add_edge(START, "before").compile(saver)
            new.update_state(config("t"), {"log": ["passed over"]}, as_node="before")
            assert new.invoke({"log": ["again"]}, config("t")) == {
                "log": ["before", "passed over", "again", "before"]
            }

    def test_a_thread_continues_without_a_node_that_has_ended(self, url: str) -> None:
        with open_saver(url) as saver:
            old = self.paused(saver)
            old.invoke(Command(resume="yes"), config("t"))
            builder = StateGraph(State).add_node("after", lambda _: {"log": ["after"]})
            new = builder.add_edge(START, "after").compile(saver)
            assert new.invoke({}, config("t")) == {"log": ["before", "yes", "after"]}
            held = [snapshot.values["log"] for snapshot in new.get_state_history(config("t"))]
            assert held[0] == ["before", "yes", "after"]
            assert ["before"] in held

    def test_a_thread_continues_without_a_key_that_is_gone(self, url: str) -> None:
        class Other(TypedDict, total=False):
            value: Any

        with open_saver(url) as saver:
            self.paused(saver)
            builder = StateGraph(Other).add_node("before", lambda _: {"value": 1})
            builder.add_node("asker", lambda _: {"value": interrupt("sure?")})
            builder.add_edge(START, "before").add_edge("before", "asker")
            new = builder.compile(saver)
            assert new.get_state(config("t")).values == {}
            assert new.invoke(Command(resume="yes"), config("t")) == {"value": "yes"}
            assert [snapshot.values for snapshot in new.get_state_history(config("t"))][-1] == {}


class TestSecrets:
    """EN-16: no key is in what is stored, reported, logged or shown."""

    def test_no_key_is_in_any_byte_of_a_file(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        @tool
        def look(place: str) -> str:
            """Looks."""
            return f"{place} is empty"

        opened = models.get("openai:gpt-5-mini", api_key=SECRET, base_url="http://127.0.0.1:9/v1")
        failing = Agent(name="failing", model=opened, retry=None)
        replies = [{"tool_calls": [{"name": "look", "arguments": {"place": "it"}}]}, "said"]
        texts: list[str] = [repr(opened), repr(failing)]
        with caplog.at_level(logging.DEBUG):
            for key in (None, bytes(range(32))):
                path = tmp_path / f"runs-{key is None}.db"
                with SqliteSaver.open(path, key=key) as saver:
                    texts.append(repr(saver))
                    looking = Agent(name="looking", model=scripted(replies), tools=[look])
                    for agent in (looking, failing):
                        team = Orchestrator([agent], checkpointer=saver)
                        try:
                            result = team.run("q", thread=agent.name)
                        except AntiphonError as error:
                            texts += [str(error), repr(error), str(error.details)]
                        else:
                            texts += [repr(result), str([it.to_dict() for it in result.events])]
                    texts += [str(saver.thread(one.thread).written) for one in saver.threads()]
                    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
                    assert len(stored) > 4096
                    assert SECRET.encode() not in stored
                    assert bytes(range(32)) not in stored
        assert SECRET not in "".join(texts)
        assert SECRET not in caplog.text

    def test_no_password_is_in_what_a_saver_says(self, postgres: Server) -> None:
        url, password = postgres.database(), postgres.password
        with PostgresSaver.open(url) as saver:
            assert password not in repr(saver) + saver.name
        with pytest.raises(AntiphonError) as raised:
            PostgresSaver.open(url.replace("@127.0.0.1", "@127.0.0.2"), timeout=1)
        assert password not in str(raised.value) + repr(raised.value) + str(raised.value.details)


class TestCrowds:
    """Many runs on one saver."""

    def test_a_thousand_runs_at_once(self, url: str) -> None:
        async def node(state: State) -> State:
            await asyncio.sleep(0)
            return {"log": [len(state.get("log", []))]}

        builder = StateGraph(State)
        for name, after in (("a", START), ("b", "a"), ("c", "b")):
            builder.add_node(name, node).add_edge(after, name)

        async def crowd(graph: CompiledGraph) -> list[Any]:
            runs = (graph.ainvoke({}, config(f"t{number}")) for number in range(1000))
            return await asyncio.gather(*runs)

        with open_saver(url) as saver:
            graph = builder.compile(saver)
            assert asyncio.run(crowd(graph)) == [{"log": [0, 1, 2]}] * 1000
            assert len(saver.threads(status="ended", limit=2000)) == 1000
            for number in (0, 500, 999):
                assert graph.get_state(config(f"t{number}")).values == {"log": [0, 1, 2]}

    @pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is not known")
    def test_memory_stays_flat_over_thousands_of_kept_runs(self, tmp_path: Path) -> None:
        runs = rounds(1_000, 8_000)
        builder = StateGraph(State).add_node("node", lambda _: {"value": "x" * 100})
        builder.add_edge(START, "node")
        with SqliteSaver.open(tmp_path / "runs.db") as saver:
            graph = builder.compile(saver)

            def run(first: int, last: int) -> int:
                for number in range(first, last):
                    graph.invoke({}, config(f"t{number % 100}"), durability="exit")
                gc.collect()
                pages = int(Path("/proc/self/statm").read_text().split()[1])
                return pages * resource.getpagesize()

            warm = run(0, 1_000)
            assert run(1_000, 1_000 + runs) - warm < max(runs * 2**10, 4 * 2**20)

    def test_a_memory_saver_releases_deleted_threads(self) -> None:
        builder = StateGraph(State).add_node("node", lambda _: {"value": "x" * 1000})
        with MemorySaver() as saver:
            graph = builder.add_edge(START, "node").compile(saver)
            for number in range(100):
                graph.invoke({}, config(f"t{number}"))
                saver.delete_thread(f"t{number}")
            assert saver.threads() == []
