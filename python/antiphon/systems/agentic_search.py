"""The agentic search: one model request plans calls of tools, one words the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict, Unpack

from antiphon._roles import RoleSpec, as_tools
from antiphon._text import counted
from antiphon._tool.lifespan import Lifespans
from antiphon.errors import ValidationError
from antiphon.systems._registry import read_registries
from antiphon.systems._system import System
from antiphon.systems.agentic_search_result import AgenticSearchResult
from antiphon.systems.progress import Activity, ProgressLine, ProgressReporter

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from antiphon._thread_store import Durability
    from antiphon._watch.watcher import Watch
    from antiphon.budget import Budget
    from antiphon.checkpoint import Saver
    from antiphon.models import Model
    from antiphon.systems.progress import EventReports, ProgressItem
    from antiphon.systems.stream import AsyncSystemStream, SystemStream
    from antiphon.toolset import McpToolset

__all__ = ["AgenticSearch", "AgenticSearchSettings"]


class AgenticSearchSettings(TypedDict, total=False):
    """The settings of an agentic search; docs/guides/agentic-search.md describes each."""

    max_tasks: int
    execution: Literal["parallel", "sequential"]
    max_parallel_tasks: int
    tools_cache_s: float
    discover_timeout_s: float
    stop_on_error: bool
    max_turn_iterations: int
    tool_timeout_s: float
    question_timeout_s: float
    temperature: float | None
    history_turns: int
    history_prompt_turns: int
    history_prompt_chars: int
    planning_chars: int
    synthesis_chars: int
    compact_synthesis: bool
    check_figures: bool
    thinking_result_chars: int
    guidance: str
    clarify: bool
    on_no_tools: Literal["canned", "model"]
    session_concurrency: Literal["wait", "reject"]


def _report_plan(data: dict[str, Any]) -> Iterator[ProgressItem]:
    yield ProgressLine(f"plan: {counted(len(data['tasks']), 'task')}")
    for task in data["tasks"]:
        yield ProgressLine(
            f"task {task['task_number']}: {task['tool_name']}: {task['description']}", 2
        )


class _SearchProgress(ProgressReporter):
    event_reports: ClassVar[EventReports] = {
        "plan_created": _report_plan,
        "tools_discovered": lambda data: [
            ProgressLine(f"tools: {data['count']}"),
            Activity("planner plans"),
        ],
        "plan_fallback": lambda data: [ProgressLine(f"no usable plan: {data['reason']}")],
        "task_failed": lambda data: [
            ProgressLine(f"task {data['task_number']} failed: {data['error']['message']}")
        ],
        "information_gathered": lambda _: [Activity("synthesiser words the answer")],
    }


class AgenticSearch(System[AgenticSearchResult]):
    """Answers a question with tools, for two model requests: one plans, one words the answer.

    The planner sees the question and the tools, and plans up to five tasks, each one call of a
    tool. Code checks and repairs the plan, and runs the tasks at the same time, or after those
    whose results they need. The synthesiser then words the answer from all results and names its
    sources. Whatever a model replies, nothing is asked again. A thread keeps the conversation: a
    question in it is a follow-up. One object serves any number of questions, also concurrently.

    Args:
        model: the model of every role that has no implementation, as for `ReviewLoop`.
        tools: what the plan may call: functions, `Tool`s, LangChain tools or
            `antiphon.Toolset`s, such as ``Toolset.mcp(url)`` or
            `antiphon.tools.document_search`.
        registry: MCP servers whose tools are looked up by each question: `Toolset.mcp`, the URL
            or the command line of one, or a list of them. A server that cannot be reached is no
            exception: the question has the outcome ``no_answer`` if there is no other tool. The
            list is kept for ``tools_cache_s`` (60) seconds, or until the server tells of a
            change.
        planner: the implementation of the role: an `antiphon.Agent` without tools, a model's
            name, a model, or a function of the brief (a dict with ``question``, ``tools``,
            ``history``, ``tasks``, ``missing`` and ``schema``), which returns ``{"reasoning":
            ..., "tasks": [{"tool_name": ..., "tool_arguments": {...}, "depends_on": [...]}]}``.
            No team and no system, which would make further requests.
        synthesiser: as `planner`; its brief has ``question``, ``results``, ``failed`` and
            ``history``, and it returns ``{"response_content": ..., "reasoning": ..., "sources":
            [...]}``.
        prompts: texts or paths that replace prompts, by their names in `System.prompts`.
        checkpointer: the store of the conversations, as for `ReviewLoop`.
        durability: as for `ReviewLoop`.
        budget: as for `ReviewLoop`.
        **settings: ``max_tasks`` (5), ``execution`` (``parallel`` or ``sequential``),
            ``stop_on_error`` (``False``), ``max_turn_iterations`` (1; with more, the synthesiser
            may ask for another plan), ``tool_timeout_s`` (60), ``question_timeout_s`` (120),
            ``history_turns`` (10), ``synthesis_chars`` (12,000), ``check_figures`` (``True``: an
            answer counts only if its numbers, units and dates stand in the results), ``guidance``
            (advice for the answer), ``clarify`` (``False``; the planner may ask a person, once),
            ``on_no_tools`` (``canned`` or ``model``); docs/guides/agentic-search.md lists all.

    Raises:
        ValidationError: a setting, role or tool is invalid (``system_setting_invalid``,
            ``role_invalid``, ``role_tools_invalid``); or there is no model
            (``model_unavailable``).
        AuthError: the provider requires a key, and none was found (``model_key_missing``).

    Example:
        >>> from antiphon.models import scripted
        >>> def population(city: str) -> int:
        ...     return {"Lyon": 520_774}[city]
        >>> task = {"tool_name": "population", "tool_arguments": {"city": "Lyon"}}
        >>> model = scripted(
        ...     [
        ...         {"json": {"reasoning": "one number", "tasks": [task]}},
        ...         {"json": {"response_content": "<p>Lyon has <b>520,774</b> people.</p>"}},
        ...     ]
        ... )
        >>> result = AgenticSearch(model, tools=[population]).run("How many people live in Lyon?")
        >>> result.answer, result.html
        ('Lyon has **520,774** people.', '<p>Lyon has <b>520,774</b> people.</p>')
    """

    name = "agentic_search"
    works_with_files = True
    _result = AgenticSearchResult
    progress_reporter = _SearchProgress
    _roles: ClassVar[Mapping[str, RoleSpec]] = {
        name: RoleSpec(name, fields, speaks=False, view=dict, asks_once=True)
        for name, fields in {
            "planner": ("tasks", "reasoning", "question"),
            "synthesiser": ("response_content", "reasoning", "sources"),
        }.items()
    }

    def __init__(
        self,
        model: str | Sequence[str | Model] | Model | None = None,
        *,
        tools: Iterable[Any] = (),
        registry: str | McpToolset | Iterable[str | McpToolset] = (),
        planner: Any = None,
        synthesiser: Any = None,
        prompts: Mapping[str, str | os.PathLike[str]] | None = None,
        checkpointer: Saver | str | None = None,
        durability: Durability = "async",
        budget: Budget | None = None,
        **settings: Unpack[AgenticSearchSettings],
    ) -> None:
        self._registries = read_registries(registry)
        super().__init__(
            model,
            roles={"planner": planner, "synthesiser": synthesiser},
            checkpointer=checkpointer,
            durability=durability,
            budget=budget,
            prompts=prompts,
            parts={"tools": tools},
            **settings,
        )

    def run(
        self,
        question: str,
        *,
        enabled_tools: Sequence[str] = (),
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> AgenticSearchResult:
        """Answer a question and wait for it, as `System.run`.

        Args:
            question: the question.
            enabled_tools: the names of the tools that may be used. Default: all.
            thread: the conversation: the thread keeps its last turns, which the question may
                refer to.
            context: as in `System.run`.
            watch: as in `System.run`.

        Raises:
            ValidationError: as `System.run`.
            StateError: as `System.run`.
        """
        return super().run(
            question, enabled_tools=enabled_tools, thread=thread, context=context, watch=watch
        )

    async def arun(
        self,
        question: str,
        *,
        enabled_tools: Sequence[str] = (),
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> AgenticSearchResult:
        """Answer a question, awaited, as `System.arun`.

        Args:
            question: the question.
            enabled_tools: as in `run`.
            thread: as in `run`.
            context: as in `System.run`.
            watch: as in `System.arun`.
        """
        return await super().arun(
            question, enabled_tools=enabled_tools, thread=thread, context=context, watch=watch
        )

    def stream(
        self,
        question: str,
        *,
        enabled_tools: Sequence[str] = (),
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> SystemStream[AgenticSearchResult]:
        """Answer a question event by event, as `System.stream`.

        Args:
            question: the question.
            enabled_tools: as in `run`.
            thread: as in `run`.
            context: as in `System.run`.
            watch: as in `System.stream`.
        """
        return super().stream(
            question, enabled_tools=enabled_tools, thread=thread, context=context, watch=watch
        )

    def astream(
        self,
        question: str,
        *,
        enabled_tools: Sequence[str] = (),
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> AsyncSystemStream[AgenticSearchResult]:
        """`stream` for ``async for``.

        Args:
            question: the question.
            enabled_tools: as in `run`.
            thread: as in `run`.
            context: as in `System.run`.
            watch: as in `System.stream`.
        """
        return super().astream(
            question, enabled_tools=enabled_tools, thread=thread, context=context, watch=watch
        )

    def _parts(
        self, known: Mapping[str, dict[str, Any]], parts: Mapping[str, Any]
    ) -> dict[str, Any]:
        del known
        clients = [one.client for one in self._registries]
        return {"tools": {self.name: as_tools(parts["tools"])}, "registries": clients}

    def _lifespans(self, options: Mapping[str, Any]) -> Lifespans:
        tools = (tool for own in self._tools.values() for tool in own)
        return Lifespans([*tools, *self._registries], options["user_context"])

    def _input(
        self, question: Any, *, enabled_tools: Sequence[str] = (), file: Any = None
    ) -> dict[str, Any]:
        if file is not None:
            raise ValidationError(
                f"an agentic search does not accept a file: {file}",
                code="input_invalid",
                hint="give it a tool that reads the file",
            )
        if isinstance(enabled_tools, str):
            raise ValidationError(
                f"`enabled_tools` must be a list of names: {enabled_tools}",
                code="input_invalid",
                hint=f"write `enabled_tools=[{enabled_tools!r}]`",
            )
        return {"question": {"question": question, "enabled_tools": list(enabled_tools)}}
