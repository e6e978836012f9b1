"""The data analyst: a database, an API and code, as a planner chooses."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict, Unpack

from antiphon._builtin_tools.database import check_database
from antiphon._roles import RoleSpec, as_tools
from antiphon.errors import SandboxUnavailable, ValidationError
from antiphon.sandbox import Sandbox
from antiphon.sandbox.engines import runner_of
from antiphon.systems._analyst_progress import AnalystProgress
from antiphon.systems._analyst_request import (
    AgentRequest,
    AgentRequestOptions,
    plain_facts,
    request_of,
)
from antiphon.systems._frames import stored_frames
from antiphon.systems._system import System
from antiphon.systems.analyst_database import check_rows, database_tools
from antiphon.systems.data_analyst_result import OrchestratorResponse

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Mapping, Sequence

    from antiphon._thread_store import Durability
    from antiphon._watch.watcher import Watch
    from antiphon.budget import Budget
    from antiphon.checkpoint import Saver
    from antiphon.models import Model
    from antiphon.systems.stream import AsyncSystemStream, SystemStream
    from antiphon.toolset import Toolset

__all__ = ["AgentRequestOptions", "DataAnalyst", "DataAnalystSettings"]

_REPLIES = {
    "planner": ("agents", "rationale", "confidence", "depends_on"),
    "sql_writer": ("sql", "missing"),
    "sql_reviewer": ("sql",),
    "sql_answerer": ("answer",),
    "api_planner": ("make_request", "method", "path"),
    "api_answerer": ("answer",),
    "coder": ("python", "explain", "reasoning", "missing"),
    "summariser": ("answer", "highlights", "fits"),
    "composer": ("answer",),
}
_SPEAKING = {"sql_writer", "sql_reviewer", "sql_answerer", "api_answerer", "composer"}


class DataAnalystSettings(TypedDict, total=False):
    """The settings of a data analyst; docs/guides/data-analyst.md describes each."""

    keywords: Mapping[str, Sequence[str]]
    keyword_mode: Literal["substring", "word"]
    add_preferred: bool
    fallback_confidence: float
    descriptions: Mapping[str, str]
    max_tables: int
    max_sql_attempts: int
    candidate_queries: int
    clarify: bool
    check_query: bool
    preview_rows: int
    force_attempt: bool
    max_computation_attempts: int
    cross_check: bool | None
    packages: Sequence[str]
    max_parallel_agents: int
    require_dependencies: bool
    agent_timeout_s: float
    max_answer_attempts: int
    compose_single: bool
    fill_hours: bool
    temperature: float | None
    max_reasks: int
    question_timeout_s: float


class DataAnalyst(System[OrchestratorResponse]):
    """Answers questions about data: a planner chooses a SQL agent, an API agent, a computation.

    Queries of a model are parsed and can only read. Each answer in words is compared with the rows
    by code: it states no number, unit or date that was not found. What one agent finds is there for
    the computation after it. One object serves any number of questions, also concurrently.

    Args:
        model: the model of every role that has no implementation, as for `ReviewLoop`.
        database: the path of a SQLite file, or of a CSV, TSV or Parquet file, which becomes a
            table of its name; a URL ``postgresql://…``; or the tools of `antiphon.tools.sql` with
            limits of their own. Default: none.
        frames: data frames by the names of their tables, in place of a database: of pandas or
            polars, dicts of columns, or lists of dicts. They are copied into a temporary SQLite
            file when the object is made.
        max_rows: the most rows that a query returns. If there are more, the result and the
            prompts of the coder and the composer say so. Tools of `sql` have a limit of their
            own. Default: 100,000.
        api: the tools of `antiphon.tools.http_api`. Default: none.
        sandbox: where code is run; ``False`` for nowhere. Default: a new `Sandbox`, with pandas and
            numpy if they are installed; none on a machine that has no engine.
        planner: the implementation of the role that chooses agents: an `antiphon.Agent`, a name,
            a model, or a function as for `ReviewLoop`; returns ``{"agents": [...]}``.
        sql_writer: returns ``{"sql": ...}``, or says in ``missing`` what no table holds; or asks
            with ``schema`` (``"tables"`` or ``"columns"``) and ``tables`` for a list by code.
        sql_reviewer: returns ``{"sql": ...}``, the query as it should be run.
        sql_answerer: returns ``{"answer": ...}``.
        api_planner: returns ``{"make_request": ..., "method": ..., "path": ...}``; with
            ``list_endpoints`` it asks for a list by code.
        api_answerer: returns ``{"answer": ...}``.
        coder: as the `planner` of `Computation`.
        summariser: as that of `Computation`.
        composer: returns ``{"answer": ...}``.
        prompts: texts or paths that replace prompts, by their names in `System.prompts`.
        checkpointer: the store of the questions' threads, as for `ReviewLoop`.
        durability: as for `ReviewLoop`.
        budget: as for `ReviewLoop`.
        **settings: ``max_sql_attempts`` (4), ``check_query`` (``True``: a model reviews each
            query), ``descriptions`` (what tables and columns mean, by ``table`` and
            ``table.column``), ``preview_rows`` (5 rows that models see), ``max_parallel_agents``
            (1), ``compose_single`` (``True``), ``question_timeout_s`` (180);
            docs/guides/data-analyst.md lists all.

    Raises:
        ValidationError: a setting or a tool is invalid (``system_setting_invalid``,
            ``tool_setting_invalid``), or there is no model (``model_unavailable``).
        AuthError: the provider requires a key, and none was found (``model_key_missing``).

    Example:
        >>> import sqlite3, tempfile
        >>> from antiphon.models import scripted
        >>> path = tempfile.mkdtemp() + "/shop.db"
        >>> with sqlite3.connect(path) as connection:
        ...     _ = connection.execute("create table orders as select 1 as id, 9.5 as net_eur")
        >>> model = scripted(
        ...     [
        ...         {"json": {"sql": "SELECT sum(net_eur) AS net_eur FROM orders"}},
        ...         {"json": {"answer": "Orders came to 9.50 euros."}},
        ...     ]
        ... )
        >>> analyst = DataAnalyst(model, database=path, check_query=False, compose_single=False)
        >>> found = analyst.run("What do orders come to?")
        >>> found.answer, found.data.rows
        ('Orders came to 9.50 euros.', ({'net_eur': 9.5},))
    """

    name = "data_analyst"
    _result = OrchestratorResponse
    progress_reporter = AnalystProgress
    _roles: ClassVar[Mapping[str, RoleSpec]] = {
        name: RoleSpec(name, replies, speaks=name in _SPEAKING, view=dict)
        for name, replies in _REPLIES.items()
    }

    def __init__(
        self,
        model: str | Sequence[str | Model] | Model | None = None,
        *,
        database: str | os.PathLike[str] | Toolset | Iterable[Any] | None = None,
        frames: Mapping[str, Any] | None = None,
        max_rows: int | None = None,
        api: Toolset | Iterable[Any] | None = None,
        sandbox: Sandbox | Literal[False] | None = None,
        planner: Any = None,
        sql_writer: Any = None,
        sql_reviewer: Any = None,
        sql_answerer: Any = None,
        api_planner: Any = None,
        api_answerer: Any = None,
        coder: Any = None,
        summariser: Any = None,
        composer: Any = None,
        prompts: Mapping[str, str | os.PathLike[str]] | None = None,
        checkpointer: Saver | str | None = None,
        durability: Durability = "async",
        budget: Budget | None = None,
        **settings: Unpack[DataAnalystSettings],
    ) -> None:
        check_rows(max_rows)
        self._sandbox = _sandbox(sandbox)
        if self._sandbox is not None:
            settings.setdefault("packages", list(self._sandbox.packages))
        super().__init__(
            model,
            roles={
                "planner": planner,
                "sql_writer": sql_writer,
                "sql_reviewer": sql_reviewer,
                "sql_answerer": sql_answerer,
                "api_planner": api_planner,
                "api_answerer": api_answerer,
                "coder": coder,
                "summariser": summariser,
                "composer": composer,
            },
            prompts=prompts,
            checkpointer=checkpointer,
            durability=durability,
            budget=budget,
            parts={"database": self._database(database, frames, max_rows, settings), "api": api},
            **settings,
        )

    def run(
        self,
        question: str | AgentRequest,
        *,
        facts: Mapping[str, Any] | None = None,
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
        **options: Unpack[AgentRequestOptions],
    ) -> OrchestratorResponse:
        """Answer a question and wait for it, as `System.run`.

        Args:
            question: the question; or an `AgentRequest`, which has the other fields too.
            facts: what models should know besides, such as the tenant, as JSON values. They
                become part of prompts: pass no secrets. The time is added.
            thread: as in `System.run`.
            context: for the code of roles and tools, as in `System.run`.
            watch: as in `System.run`.
            **options: the fields of an `AgentRequest`: ``prefer_agents``, ``disable_agents``,
                ``max_turns``, ``include_data``, ``trace``, ``system_prompt``.

        Raises:
            ValidationError: as `System.run`; or an agent is unknown, or a key of `facts` names a
                secret (``input_invalid``).
            StateError: as `System.run`.
        """
        text, fields = request_of(question, facts, options)
        return super().run(text, **fields, thread=thread, context=context, watch=watch)

    async def arun(
        self,
        question: str | AgentRequest,
        *,
        facts: Mapping[str, Any] | None = None,
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
        **options: Unpack[AgentRequestOptions],
    ) -> OrchestratorResponse:
        """Answer a question, awaited, as `System.arun`.

        Args:
            question: as in `run`.
            facts: as in `run`.
            thread: as in `run`.
            context: as in `run`.
            watch: as in `System.arun`.
            **options: as in `run`.
        """
        text, fields = request_of(question, facts, options)
        return await super().arun(text, **fields, thread=thread, context=context, watch=watch)

    def stream(
        self,
        question: str | AgentRequest,
        *,
        facts: Mapping[str, Any] | None = None,
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
        **options: Unpack[AgentRequestOptions],
    ) -> SystemStream[OrchestratorResponse]:
        """Answer a question event by event, as `System.stream`.

        Args:
            question: as in `run`.
            facts: as in `run`.
            thread: as in `run`.
            context: as in `run`.
            watch: as in `System.stream`.
            **options: as in `run`.
        """
        text, fields = request_of(question, facts, options)
        return super().stream(text, **fields, thread=thread, context=context, watch=watch)

    def astream(
        self,
        question: str | AgentRequest,
        *,
        facts: Mapping[str, Any] | None = None,
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
        **options: Unpack[AgentRequestOptions],
    ) -> AsyncSystemStream[OrchestratorResponse]:
        """`stream` for ``async for``.

        Args:
            question: as in `run`.
            facts: as in `run`.
            thread: as in `run`.
            context: as in `run`.
            watch: as in `System.stream`.
            **options: as in `run`.
        """
        text, fields = request_of(question, facts, options)
        return super().astream(text, **fields, thread=thread, context=context, watch=watch)

    def _database(
        self,
        given: Any,
        frames: Mapping[str, Any] | None,
        rows: int | None,
        settings: DataAnalystSettings,
    ) -> Any:
        """The tools of the database."""
        descriptions = settings.get("descriptions")
        if frames is not None:
            if given is not None:
                raise ValidationError(
                    "`database` and `frames` cannot be given both",
                    code="input_invalid",
                    hint="write the frames into the database",
                )
            given = stored_frames(frames, self)
        elif given is not None:
            check_database(given)
        if isinstance(given, str | os.PathLike):
            return database_tools(given, self, descriptions, max_rows=rows)
        if rows is not None:
            raise ValidationError(
                "`max_rows` needs the path or URL of a database, or frames",
                code="system_setting_invalid",
                hint="pass `max_rows` to `sql(...)`",
            )
        return given

    def _parts(
        self, known: Mapping[str, dict[str, Any]], parts: Mapping[str, Any]
    ) -> dict[str, Any]:
        del known
        if isinstance(parts["api"], str):
            raise ValidationError(
                f"`api` takes the tools of an API, and a text was given: {parts['api']}",
                code="system_setting_invalid",
                hint='describe its endpoints in a catalogue: `api=http_api("catalogue.yaml")`',
            )
        tools = [parts["database"], parts["api"]]
        own = as_tools(tool for given in tools if given for tool in _listed(given))
        found: dict[str, Any] = {"tools": {self.name: own}}
        if self._sandbox is not None:
            found["sandbox"] = runner_of(self._sandbox).engine
        return found

    def _working_roles(
        self, settings: Mapping[str, Any], prompts: Mapping[str, str]
    ) -> Iterable[str]:
        del prompts
        names = [tool.name for tool in self._tools.get(self.name, ())]
        agents = {
            ("sql_writer", "sql_reviewer", "sql_answerer"): "sql_query",
            ("api_planner", "api_answerer"): "api_endpoints",
        }
        found = [
            roles for roles, tool in agents.items() if any(name.endswith(tool) for name in names)
        ]
        if self._sandbox is not None:
            found.append(("coder", "summariser"))
        if len(found) > 1:
            found.append(("planner",))
        working = {"composer", *(role for roles in found for role in roles)}
        return working if settings.get("check_query", True) else working - {"sql_reviewer"}

    def _input(
        self, question: Any, *data: Any, facts: Mapping[str, Any] | None = None, **options: Any
    ) -> dict[str, Any]:
        if data:
            given = ", ".join(map(repr, data))
            raise TypeError(f"a data analyst takes a question and its options, and got: {given}")
        return {"question": {"question": question, "context": plain_facts(facts), **options}}

    def _call_options(self, loop: asyncio.AbstractEventLoop | None) -> dict[str, Any]:
        return {} if self._sandbox is None else {"call": runner_of(self._sandbox).calls(loop)}


def _listed(tools: Any) -> list[Any]:
    return list(tools) if isinstance(tools, list | tuple) else [tools]


def _sandbox(given: Sandbox | Literal[False] | None) -> Sandbox | None:
    if isinstance(given, Sandbox):
        return given
    if given is False:
        return None
    if given is not None:
        raise ValidationError(
            f"`sandbox` must be a Sandbox, or False: {type(given).__name__}",
            code="system_setting_invalid",
            hint='pass `Sandbox(packages=["pandas"])`',
        )
    from importlib.util import find_spec

    packages = [name for name in ("numpy", "pandas", "pyarrow") if find_spec(name)]
    try:
        return Sandbox(packages=packages)
    except SandboxUnavailable:
        return None
