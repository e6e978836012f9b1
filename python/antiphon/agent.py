"""The class of agents."""

from __future__ import annotations

import difflib
import functools
import threading
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from antiphon._orchestrator.agent_spec import name_of
from antiphon._orchestrator.assemble import diagram_of
from antiphon._orchestrator.declaration import AgentDeclaration
from antiphon._orchestrator.lone_verbs import LoneVerbs
from antiphon._type_params import ContextT, Generic, OutputT
from antiphon.errors import ValidationError
from antiphon.orchestrator import Orchestrator

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import Saver
    from antiphon._diagram import Diagram

__all__ = ["Agent", "team_of"]

_P = ParamSpec("_P")
_T = TypeVar("_T")

_TEAM = "__antiphon_team__"
"""Where an agent keeps its team of one."""
_NEAR = 0.8
"""How alike the name of an attribute and that of an option are if one is meant for the other."""


def _alone(method: Callable[Concatenate[Any, _P], _T]) -> Callable[Concatenate[Any, _P], _T]:
    """A method of a team for an agent alone."""

    @functools.wraps(method)
    def call(agent: Agent, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return method(team_of(agent), *args, **kwargs)

    return call


class Agent(
    AgentDeclaration[ContextT, OutputT], LoneVerbs[ContextT, OutputT], Generic[ContextT, OutputT]
):
    """A member of a team, or a team of one. There are two ways to write one.

    *Declare* it, and the loop of model and tool calls runs natively::

        geographer = Agent("openai:gpt-5-mini", name="geographer", tools=[population])
        geographer.run("How many people live in Lyon?").answer

    *Or* implement a method ``act(self, state, ctx)``, sync or async, in a subclass. It receives
    the state and an `antiphon.AgentContext`, and returns a dict (an update of the state), a text
    (the answer), nothing, or the result of ``ctx.goto(...)``, ``ctx.send(...)`` or
    ``ctx.end(...)``.

    Each option can be given when the agent is created, or as an attribute of a subclass. The
    docstring of a subclass describes the agent to routers and to other agents; the model of the
    agent does not read it.

    An agent alone has the verbs of `antiphon.Orchestrator`. They run a team that consists of
    the agent.

    Args:
        model: ``"provider:name"``, a model of `antiphon.models`, a LangChain chat model, or a
            function of the request.
        name: unique in the team. Default: the class's name in snake case.
        description: one sentence that routers read. Default: the first line of the docstring of
            the subclass.
        instructions: the system prompt: a text, or a function, sync or async, that takes the
            context (`antiphon.RunContext`), or the state and the context, and returns it.
            Default: none.
        tools: functions, `Tool`s, `Toolset`s, or LangChain's tools or toolkits, that the model
            may call; methods of the agent are bound to it.
        output: the type of the answer: a pydantic model, dataclass, TypedDict, another type
            hint, or a JSON schema as a dict. Default: text.
        reads: keys of the state that the prompt includes as data.
        writes: the key that the result is written to; with several, each takes the field of
            that name from `output`. Default: ``answer``.
        handoffs: agents of the team, or their names, to which the model may hand the
            conversation over.
        retry: a `RetryPolicy`, or how many attempts. Default: the team's, else one attempt.
        timeout: seconds one attempt may take. Default: the team's, else no limit.
        budget: the budget of each execution. Default: no limit for the agent.
        max_model_calls: model calls per execution. Default: 25.
        max_tool_calls: tool calls per execution. Default: 20.
        max_output_tokens: the limit of each reply. Default: the model's.
        temperature: 0 is the least random. Default: the model's.
        on_error: ``"raise"``: an exception ends the run; ``"record"``: the team continues, and
            the result lists the error. Default: the team's.
        fallback: an agent, or the name of one, that runs in its place after it has failed.
            Default: the team's.
        checkpointer: the store of the threads of the agent alone, as for `Orchestrator`; in a
            team, the store of the team counts.
        durability: the durability of these threads, as for `Orchestrator`.

    Raises:
        ValidationError: ``agent_invalid``: a keyword is no option; `retry`, `timeout`, `budget`,
            `temperature`, `on_error`, `tools` or a limit has a wrong value; an attribute of a
            subclass is a misspelt option; or a subclass defines ``run``. Other values, and the
            attributes of subclasses, are checked when a team is built or the agent first runs
            alone.

    Example:
        >>> from antiphon.models import scripted
        >>> Agent(scripted(["Lima."]), name="geographer").run("The capital of Peru?").answer
        'Lima.'
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "run" in vars(cls):
            raise ValidationError(
                f"agent class `{cls.__name__}` replaces a verb of all agents: run",
                code="agent_invalid",
                details={"option": "run"},
                hint="name it act: `def act(self, state, ctx)`, sync or async",
            )
        for name, value in vars(cls).items():
            _check_attribute(cls, name, value)

    if not TYPE_CHECKING:  # `LoneVerbs` has their types
        run, arun = _alone(Orchestrator.run), _alone(Orchestrator.arun)
        stream, astream = _alone(Orchestrator.stream), _alone(Orchestrator.astream)
        batch, abatch = _alone(Orchestrator.batch), _alone(Orchestrator.abatch)
        resume, aresume = _alone(Orchestrator.resume), _alone(Orchestrator.aresume)
        recover, arecover = _alone(Orchestrator.recover), _alone(Orchestrator.arecover)
    orphans, aorphans = _alone(Orchestrator.orphans), _alone(Orchestrator.aorphans)
    state, astate = _alone(Orchestrator.state), _alone(Orchestrator.astate)
    history, ahistory = _alone(Orchestrator.history), _alone(Orchestrator.ahistory)
    update, aupdate = _alone(Orchestrator.update), _alone(Orchestrator.aupdate)
    fork, afork = _alone(Orchestrator.fork), _alone(Orchestrator.afork)
    diff, adiff = _alone(Orchestrator.diff), _alone(Orchestrator.adiff)

    @property
    def graph(self) -> Diagram:
        """The diagram of the agent alone: Mermaid text or SVG, displayed in notebooks.

        Its model is not opened for it, and may be one that is downloaded.
        """
        return diagram_of(self)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name in Agent.OPTIONS and _TEAM in vars(self):
            # The next run is that of an agent with these options.
            vars(self)[_TEAM].forget()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != _TEAM}


class _TeamOfOne(Orchestrator):
    """The team of an agent alone."""

    _kind = "agent"

    def __init__(self, agent: Agent, checkpointer: Saver | str | None) -> None:
        self._agent = agent
        super().__init__(
            [agent],
            name=name_of(agent),
            checkpointer=checkpointer,
            durability=agent.durability,
        )

    @property
    def _maker(self) -> str:
        return type(self._agent).__name__

    def __repr__(self) -> str:
        return repr(self._agent)


class _TeamOfOneCache:
    """The team of an agent alone, built when it first runs, and again after a change."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._team: _TeamOfOne | None = None
        self._checkpointer: Any = None
        self._saver: Saver | None = None

    def team_of(self, agent: Agent) -> _TeamOfOne:
        """The team."""
        with self._lock:
            if self._team is None:
                given = agent.checkpointer
                is_open = self._saver is not None and given == self._checkpointer
                self._team = _TeamOfOne(agent, self._saver if is_open else given)
                self._checkpointer, self._saver = given, self._team.checkpointer
            return self._team

    def forget(self) -> None:
        """Drops the team, but not the open store."""
        with self._lock:
            self._team = None


def team_of(agent: Agent) -> Orchestrator:
    """The team of an agent alone, the same until one of its options changes."""
    cache: _TeamOfOneCache = vars(agent).setdefault(_TEAM, _TeamOfOneCache())
    return cache.team_of(agent)


def _check_attribute(kind: type[Agent], name: str, value: Any) -> None:
    """Refuses the misspelt name of an option; what is unlike any option is the class's own."""
    if name.startswith("_") or hasattr(Agent, name):
        return
    # Methods and nested classes have names such as `read`; only one option is written as a method.
    known = {"instructions"} if callable(value) or hasattr(value, "__get__") else Agent.OPTIONS
    near = difflib.get_close_matches(name, known, 1, _NEAR)
    if near:
        raise ValidationError(
            f"attribute of agent class `{kind.__name__}` that is nearly an option: {name}",
            code="agent_invalid",
            details={"option": name},
            hint=f"did you mean `{near[0]}`? Else give the attribute another name",
        )
