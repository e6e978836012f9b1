"""What tasks of a node's own raise is the node's: nobody has cancelled the caller."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, AgentContext, Orchestrator
from antiphon.errors import InternalError
from support.waiting import forever

if TYPE_CHECKING:
    from collections.abc import Coroutine

LOOP = pytest.mark.parametrize("own_loop", [False, True])


class Odd(BaseException):
    """No ``Exception``, and no way of asyncio's to stop anything."""


class Tasks(Agent):
    """Waits for its own task."""

    async def act(self, state: Any, ctx: AgentContext) -> str:
        return str(await asyncio.gather(self.task(ctx)))

    async def task(self, ctx: AgentContext) -> Any:
        """What is waited for."""


class Fails(Tasks):
    async def task(self, ctx: AgentContext) -> Any:
        raise Odd("odd")


class Stops(Tasks):
    async def task(self, ctx: AgentContext) -> Any:
        raise asyncio.CancelledError


class Groups(Tasks):
    async def task(self, ctx: AgentContext) -> Any:
        async def fail() -> None:
            raise LookupError("broken")

        async def ask() -> None:
            ctx.ask("name?")

        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            group.create_task(ask())


class Late(Tasks):
    async def task(self, ctx: AgentContext) -> Any:
        async with asyncio.timeout(0):
            await forever()


def raised_by(agent: Agent, *, own_loop: bool) -> tuple[Orchestrator, BaseException]:
    """What a run raises, on the caller's loop or without one, and the team for its state."""
    made = Orchestrator([agent], checkpointer="memory:")

    async def run_team() -> Any:
        return await made.arun("q", thread="t")

    with pytest.raises(BaseException) as raised:  # noqa: PT011  # looked at by who calls this
        asyncio.run(run_team()) if own_loop else made.run("q", thread="t")
    return made, raised.value


@LOOP
@pytest.mark.parametrize("agent", [Fails, Groups])
def test_what_is_no_exception_stops_the_run_as_itself(agent: type[Tasks], own_loop: bool) -> None:
    made, raised = raised_by(agent(), own_loop=own_loop)
    assert type(raised) in {Odd, BaseExceptionGroup}
    state = made.state("t")
    assert state.outcome == "cancelled"
    assert (state.reason or "").startswith(f"{type(raised).__name__}: ")


@LOOP
def test_a_task_that_was_cancelled_is_a_failure_of_the_node(own_loop: bool) -> None:
    made, raised = raised_by(Stops(), own_loop=own_loop)
    assert isinstance(raised, InternalError)
    assert (raised.code, made.state("t").outcome) == ("node_cancelled", "error")


@LOOP
def test_a_time_out_of_the_nodes_own_is_its_failure(own_loop: bool) -> None:
    made, raised = raised_by(Late(), own_loop=own_loop)
    assert (type(raised), made.state("t").outcome) == (TimeoutError, "error")


def left(leave: Any, agent: Agent) -> tuple[str | None, str | None]:
    """How a run ends whose caller leaves in a special way."""
    made = Orchestrator([agent], checkpointer="memory:")
    asyncio.run(leave(made.arun("q", thread="t")))
    state = made.state("t")
    return state.outcome, state.reason


async def by_cancelling(asking: Coroutine[Any, Any, Any]) -> None:
    task = asyncio.ensure_future(asking)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def by_a_time_out(asking: Coroutine[Any, Any, Any]) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await asking


async def by_waiting_no_longer(asking: Coroutine[Any, Any, Any]) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asking, 0.01)


@pytest.mark.parametrize("leave", [by_cancelling, by_a_time_out, by_waiting_no_longer])
def test_a_caller_that_leaves_while_a_node_waits_for_its_tasks_cancels_the_run(leave: Any) -> None:
    class Waits(Tasks):
        """Waits for ever."""

        async def task(self, ctx: AgentContext) -> Any:
            await asyncio.Event().wait()

    assert left(leave, Waits()) == ("cancelled", "cancelled")
