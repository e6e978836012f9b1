"""Steps of plans that workers carry out over a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Tool, ToolContext, tool
from antiphon.errors import AuthError, ToolTransportError, ValidationError
from antiphon.models import scripted
from antiphon.systems import PlanExecute, PlanExecuteResult, Queue, Worker, WorkerNotice
from support.nats import CREDENTIALS, PASSWORD, NatsServer, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONTEXT = {"json": {"updatedSummaryOfProgress": "done", "updatedNextObjective": "answer"}}
CITIES = {"Lyon": 520_774, "Nice": 348_085}


def population(city: str) -> int:
    """Look up how many people live in a city."""
    return CITIES[city]


def model(*cities: str) -> Any:
    stages = [
        [
            {
                "stepId": city,
                "assigned_agent_role": "UtilityAgent",
                "tool_name": "population",
                "sub_task_input": {"city": city},
                "narrative_step": f"look up {city}",
            }
            for city in cities
        ]
    ]
    return scripted([{"json": {"stages": stages}}, CONTEXT, {"json": {"answer": "Known."}}])


def asked(*cities: str, tools: Any = (population,), **options: Any) -> PlanExecuteResult:
    return PlanExecute(model(*cities), tools=tools, **options).run("How many people?")


def journal(result: PlanExecuteResult) -> list[str]:
    return [event.name for event in result.events if event.name and event.name.isupper()]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with NatsServer(tmp_path_factory.mktemp("nats")) as server:
        yield server


def test_a_run_over_a_queue_has_the_same_events_and_the_same_result() -> None:
    def nowhere(city: str) -> int:
        raise AssertionError(f"the system has called the tool itself: {city}")

    here = asked("Lyon", "Nice")
    queue, told = Queue.memory(), list[WorkerNotice]()
    only_its_spec = Tool(nowhere, name="population", description="Look up how many people.")
    with Worker(queue, tools=[population], watch=told.append) as worker:
        there = asked("Lyon", "Nice", tools=[only_its_spec], queue=queue)
    assert [step.result for step in there.executed_plan] == [520_774, 348_085]
    assert (there.answer, there.outcome) == (here.answer, here.outcome)
    assert sorted(journal(there)) == sorted(journal(here))
    assert worker.roles == {"UtilityAgent": ["CalculatorTool", "population"]}
    assert sorted((one.kind, one.step) for one in told) == [
        ("completed", "Lyon"),
        ("completed", "Nice"),
        ("started", "Lyon"),
        ("started", "Nice"),
    ]
    assert str(told[0]).startswith("UtilityAgent: started: population, step ")


def test_a_failure_of_a_worker_fails_the_step() -> None:
    queue, told = Queue.memory(), list[WorkerNotice]()
    with Worker(queue, tools=[population], watch=told.append):
        failed = asked("Rome", queue=queue, max_revisions=0)
    assert failed.executed_plan[0].error is not None
    assert "Rome" in failed.executed_plan[0].error.message
    assert told[-1].kind == "failed"
    assert "Rome" in str(told[-1].error)


def test_a_worker_gives_its_own_context_to_its_tools() -> None:
    @tool(name="population")
    def at_worker(city: str, ctx: ToolContext[dict[str, int]]) -> int:
        return ctx.context[city]

    queue = Queue.memory()
    with Worker(queue, tools=[at_worker], context={"Oslo": 717_710}):
        result = asked("Oslo", queue=queue)
    assert result.executed_plan[0].result == 717_710


def test_key_profiles_are_tools_of_the_worker_with_other_credentials() -> None:
    def refused(city: str) -> int:
        raise AuthError(f"the key is refused: {city}", code="key_refused")

    queue = Queue.memory()
    free = [Tool(refused, name="population", description="Look up how many people.")]
    choice: Any = {"UtilityAgent": ["free", "paid"]}
    with Worker(queue, tools=free, key_profiles={"free": free, "paid": [population]}):
        found = asked("Lyon", queue=queue, role_profiles=choice)
        unknown = asked(
            "Lyon", queue=queue, role_profiles={"UtilityAgent": "stolen"}, max_revisions=0
        )
    assert found.executed_plan[0].result == 520_774
    assert "EXECUTION_STEP_PROFILE_REFUSED" in journal(found)
    error = unknown.executed_plan[0].error
    assert error is not None
    assert (error.type, error.message.endswith("stolen")) == ("Auth", True)
    here = PlanExecute(model("Lyon"), tools=free, key_profiles={"paid": [population]})
    chosen = here.run("How many people?", role_profiles={"UtilityAgent": "paid"})
    assert chosen.executed_plan[0].result == 520_774


def test_what_a_worker_has_not_done_stands_with_the_step() -> None:
    def partly(city: str) -> dict[str, Any]:
        errors = [{"source": "suburbs", "message": "not counted"}]
        return {"result": CITIES[city], "partial_errors": errors}

    queue, tools = Queue.memory(), [Tool(partly, name="population", description="Look up.")]
    with Worker(queue, tools=tools):
        (step,) = (result := asked("Lyon", tools=tools, queue=queue)).executed_plan
    assert (step.result, step.partial_errors) == (520_774, {"suburbs": "not counted"})
    assert "not done: suburbs: not counted" in result._repr_mimebundle_()["text/plain"]


@pytest.mark.parametrize("is_queued", [True, False])
def test_a_tool_reads_how_the_task_stands_if_it_is_told(is_queued: bool) -> None:
    told: list[str | None] = []

    def count(city: str, call: ToolContext) -> int:
        told.append(call.context_summary)
        return CITIES[city]

    tools = [Tool(count, name="population", description="Look up.")]
    queue = Queue.memory()
    options: dict[str, Any] = {"queue": queue} if is_queued else {}
    with Worker(queue, tools=tools):
        for is_told in (False, True):
            asked("Lyon", tools=tools, send_context_summary=is_told, **options)
    assert told[0] is None
    assert told[1] is not None
    assert "Carry out the first stage." in told[1]


def test_a_worker_refuses_what_it_cannot_do() -> None:
    queue = Queue.memory()
    with pytest.raises(ValidationError, match="no tool of the role: ResearchAgent") as refused:
        Worker(queue, tools=[population], roles=["ResearchAgent"])
    assert refused.value.code == "role_unknown"
    with pytest.raises(ValidationError, match="drain_s"):
        Worker(queue, drain_s=-1)
    with pytest.raises(ValidationError, match="must be a URL or a Queue: int") as none:
        PlanExecute(scripted([]), queue=3)  # type: ignore[arg-type]
    assert none.value.code == "queue_setting_invalid"


def test_a_server_is_checked_before_anything_is_done_and_no_login_is_shown(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ToolTransportError) as nobody:
        Queue.connect(f"nats://worker:{PASSWORD}@127.0.0.1:{free_port()}")
    with pytest.raises(ValidationError) as scheme:
        PlanExecute(scripted([]), queue=f"redis://worker:{PASSWORD}@127.0.0.1")
    with pytest.raises(AuthError) as login:
        Queue.connect(f"nats://127.0.0.1:{server.port}")
    with pytest.raises(ValidationError) as file:
        Queue.connect(server.url, ca_file="no-such.pem")
    errors = [nobody.value, scheme.value, login.value, file.value]
    assert [error.code for error in errors] == [
        "queue_unreachable",
        "queue_setting_invalid",
        "queue_login_failed",
        "queue_setting_invalid",
    ]
    monkeypatch.setenv("NATS_USER", "worker")
    monkeypatch.setenv("NATS_PASSWORD", PASSWORD)
    queue = Queue.connect(f"nats://127.0.0.1:{server.port}", name="of the test")
    with Worker(queue, tools=[population]):
        result = asked("Lyon", queue=queue)
    assert result.executed_plan[0].result == 520_774
    shown = [*errors, queue, queue.name, result.to_json(), result.trace.to_text(), result]
    assert all(PASSWORD not in f"{one} {one!r}" for one in shown)


def test_a_credentials_file_is_a_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with NatsServer(tmp_path, of_operator=True) as server:
        url = f"nats://127.0.0.1:{server.port}"
        assert Queue.connect(url, credentials_file=CREDENTIALS).name == url
        with pytest.raises(AuthError):
            Queue.connect(url)
        monkeypatch.setenv("NATS_CREDS", str(CREDENTIALS))
        assert Queue.connect(url).name == url
        (tmp_path / "empty.creds").touch()
        for name, message in [
            ("empty.creds", "the file holds no credentials of NATS: "),
            ("lost.creds", "the file does not exist: "),
        ]:
            with pytest.raises(ValidationError, match=message) as refused:
                Queue.connect(url, credentials_file=tmp_path / name)
            assert refused.value.code == "queue_setting_invalid"
