"""What can happen to a database while runs are kept there: a real server, really stopped."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from antiphon.checkpoint import PostgresSaver, Saver
from antiphon.errors import AntiphonError
from antiphon.graph import START, StateGraph
from support.postgres import Server
from support.states import Log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from antiphon.graph import CompiledGraph

ONE: Any = {"configurable": {"thread_id": "1"}}


@pytest.fixture
def database(postgres: Server) -> str:
    """The URL of a database for one test alone."""
    return postgres.database()


@pytest.fixture
def own() -> Iterator[Server]:
    """A server that this test alone may stop."""
    with Server() as server:
        yield server


def chain(saver: Saver | str, *acts: Callable[[], object]) -> CompiledGraph:
    """Nodes in a row; each does something and says that it did."""
    builder = StateGraph(Log)
    last = START
    for place, act in enumerate(acts):

        def node(_: Log, place: int = place, act: Callable[[], object] = act) -> Log:
            act()
            return {"log": [place]}

        builder.add_node(f"n{place}", node).add_edge(last, f"n{place}")
        last = f"n{place}"
    return builder.compile(saver)


def nothing() -> None:
    """A node that does no more than to be run."""


class TestOpening:
    """What a saver is opened with."""

    def test_the_saver_opens_by_its_own_name_and_by_langgraphs(
        self, postgres: Server, database: str
    ) -> None:
        name = f"postgres:127.0.0.1:{postgres.port}/{database.rpartition('/')[2]}"
        with PostgresSaver.from_conn_string(database) as saver:
            assert isinstance(saver, Saver)
            assert saver.name == name
            assert repr(saver) == f'PostgresSaver("{name}")'

    def test_savers_of_different_schemas_share_no_threads(self, database: str) -> None:
        with (
            PostgresSaver.open(database, schema="one") as one,
            PostgresSaver.open(database, schema="two", pool=1, timeout=5) as two,
        ):
            chain(one, nothing).invoke({}, ONE)
            assert chain(two, nothing).get_state(ONE).metadata is None
            assert chain(one, nothing).get_state(ONE).values == {"log": [0]}

    def test_the_error_of_a_wrong_password_does_not_contain_it(self, postgres: Server) -> None:
        url = postgres.url(password="Hunter2")
        with pytest.raises(AntiphonError) as raised:
            PostgresSaver.open(url)
        assert raised.value.code == "store_refused"
        texts = [str(raised.value), repr(raised.value), repr(raised.value.details)]
        assert "Hunter2" not in "".join([*texts, str(raised.value.hint)])

    @pytest.mark.parametrize("option", [{"schema": "a b"}, {"pool": 0}, {"timeout": 0}])
    def test_a_setting_that_cannot_be_used_is_refused(
        self, database: str, option: dict[str, Any]
    ) -> None:
        with pytest.raises(AntiphonError) as raised:
            PostgresSaver.open(database, **option)
        assert raised.value.code == "store_setting_invalid"

    @pytest.mark.parametrize("timeout", [-1.0, float("nan"), float("inf")])
    def test_a_time_out_is_a_number_of_seconds(self, database: str, timeout: float) -> None:
        with pytest.raises(ValueError, match="timeout"):
            PostgresSaver.open(database, timeout=timeout)

    def test_nothing_readable_is_written_with_a_key(self, postgres: Server, database: str) -> None:
        for schema, key, found in (("plain", None, "t"), ("sealed", b"k" * 32, "f")):
            with PostgresSaver.open(database, schema=schema, key=key) as saver:
                chain(saver, nothing).invoke({"log": ["a secret word"]}, ONE)
            readable = f"SELECT bool_or(position('secret'::bytea IN body) > 0) FROM {schema}.entry"
            assert postgres.ask(readable, database.rpartition("/")[2]) == found


class TestLosses:
    """Connections and servers that go away."""

    def cut(self, postgres: Server, database: str) -> int:
        name = database.rpartition("/")[2]
        cut = "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE datname"
        return int(postgres.ask(f"{cut} = '{name}'"))

    @pytest.mark.parametrize("durability", ["sync", "async", "exit"])
    def test_a_cut_connection_is_reopened(
        self, postgres: Server, database: str, durability: Any
    ) -> None:
        cut: list[int] = []

        def act() -> None:
            cut.append(self.cut(postgres, database))

        graph = chain(database, act, act, act)
        assert graph.invoke({}, ONE, durability=durability) == {"log": [0, 1, 2]}
        assert cut[0] > 0
        assert graph.get_state(ONE).values == {"log": [0, 1, 2]}

    def test_a_server_that_starts_again_is_waited_for(self, own: Server) -> None:
        stopped = threading.Event()

        def stop() -> None:
            own.stop()
            stopped.set()

        graph = chain(own.database(), stop, nothing, nothing)
        with ThreadPoolExecutor() as pool:
            done = pool.submit(graph.invoke, {}, ONE, durability="sync")
            assert stopped.wait(60)
            with pytest.raises(TimeoutError):
                done.result(0.3)
            own.start()
            assert done.result(60) == {"log": [0, 1, 2]}
        assert graph.get_state(ONE).values == {"log": [0, 1, 2]}

    def test_a_server_that_stays_away_ends_the_run_where_it_can_resume(self, own: Server) -> None:
        ran: list[int] = []

        def stop() -> None:
            if 1 not in ran:
                own.stop()
            ran.append(1)

        acts = [lambda: ran.append(0), stop, lambda: ran.append(2)]
        graph = chain(PostgresSaver.open(own.database(), timeout=0.5), *acts)
        with pytest.raises(AntiphonError) as raised:
            graph.invoke({}, ONE, durability="sync")
        assert raised.value.code == "store_unavailable"
        own.start()
        held = graph.get_state(ONE)
        assert (held.values, held.next) == ({"log": [0]}, ("n1",))
        assert graph.invoke(None, ONE) == {"log": [0, 1, 2]}
        assert ran == [0, 1, 1, 2], "what was committed is not done again"

    def test_closing_does_not_wait_for_a_server_that_is_away(self, own: Server) -> None:
        saver = PostgresSaver.open(own.database(), timeout=600)
        chain(saver, nothing).invoke({}, ONE)
        own.stop()
        saver.close()


HOLDER = """
import sys
from typing import TypedDict
from antiphon.graph import START, StateGraph
State = TypedDict("State", {"log": list})
def hold(state):
    print("held", flush=True)
    sys.stdin.read()
    return {"log": ["theirs"]}
graph = StateGraph(State).add_node("n0", hold).add_edge(START, "n0").compile(sys.argv[1])
graph.invoke({}, {"configurable": {"thread_id": "1"}})
"""


class TestProcesses:
    """Several processes and threads."""

    @pytest.fixture
    def holder(self, database: str) -> subprocess.Popen[str]:
        """A process in the midst of a run."""
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, database],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    def test_one_of_two_processes_on_a_thread_is_refused(
        self, database: str, holder: subprocess.Popen[str]
    ) -> None:
        graph = chain(database, nothing)
        with holder:
            with pytest.raises(AntiphonError) as raised:
                graph.invoke({}, ONE)
            assert raised.value.code == "thread_busy"
            holder.communicate("")
        assert holder.returncode == 0
        assert graph.get_state(ONE).values == {"log": ["theirs"]}
        assert graph.invoke({}, ONE) == {"log": ["theirs", 0]}

    def test_the_lease_of_a_dead_process_is_taken_over(
        self, postgres: Server, database: str, holder: subprocess.Popen[str]
    ) -> None:
        with holder:
            holder.kill()
        # As on another machine, which cannot see that the process has ended.
        name = database.rpartition("/")[2]
        postgres.ask("UPDATE antiphon.thread SET owner = 'elsewhere'", name)
        graph = chain(database, nothing)
        with pytest.raises(AntiphonError) as raised:
            graph.invoke({}, ONE)
        assert raised.value.code == "thread_busy"
        postgres.ask("UPDATE antiphon.thread SET until = until - interval '1 minute'", name)
        assert graph.invoke({}, ONE) == {"log": [0]}

    def test_threads_and_a_loop_share_one_saver(self, database: str) -> None:
        begin = threading.Barrier(9)
        with PostgresSaver.open(database) as saver:
            graph = chain(saver, nothing, nothing)

            def turns(thread: str) -> Any:
                begin.wait(30)
                for _ in range(5):
                    done = graph.invoke({}, {"configurable": {"thread_id": thread}})
                return done

            async def turn(thread: str) -> Any:
                for _ in range(5):
                    done = await graph.ainvoke({}, {"configurable": {"thread_id": thread}})
                return done

            async def loop() -> list[Any]:
                await asyncio.to_thread(begin.wait, 30)
                return await asyncio.gather(*(turn(f"loop {number}") for number in range(20)))

            with ThreadPoolExecutor(8) as pool:
                waited = [pool.submit(turns, f"thread {number}") for number in range(8)]
                awaited = asyncio.run(loop())
                ends = [*awaited, *(future.result(60) for future in waited)]
        assert ends == [{"log": [0, 1] * 5}] * 28
