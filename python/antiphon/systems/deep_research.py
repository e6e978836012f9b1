"""Deep research: a question researched in steps, and a report whose claims are verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict, Unpack

from antiphon._roles import RoleSpec, as_tools
from antiphon._schema.contract import Output
from antiphon._tool.lifespan import Lifespans
from antiphon.errors import ValidationError
from antiphon.systems._research_progress import ResearchProgress
from antiphon.systems._research_request import read_history, read_sources
from antiphon.systems._system import System
from antiphon.systems.deep_research_result import DeepResearchResult

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from antiphon._thread_store import Durability
    from antiphon._watch.watcher import Watch
    from antiphon.budget import Budget
    from antiphon.checkpoint import Saver
    from antiphon.models import Model
    from antiphon.systems._research_request import CitationSettings, DepthSettings, Message, Source
    from antiphon.systems.stream import AsyncSystemStream, SystemStream

__all__ = ["DeepResearch", "DeepResearchSettings"]

_Mode = Literal["simple", "web_search", "deep_research"]
"""Which way a question takes."""
_Depth = Literal["auto", "light", "medium", "extended"]
"""How thorough the research is."""

_REPLIES: Mapping[str, tuple[str, ...]] = {
    "coordinator": (
        "is_ambiguous",
        "complexity",
        "reasoning",
        "clarifying_questions",
        "recommended_depth",
        "follow_up_type",
        "is_simple_query",
        "direct_response",
    ),
    "background": ("queries",),
    "planner": ("title", "thought", "has_enough_context", "steps"),
    "researcher": ("queries", "calls", "observation"),
    "reflector": (
        "decision",
        "reasoning",
        "suggested_changes",
        "remaining_topics",
        "covered_topics",
        "coverage_gaps",
    ),
    "synthesiser": ("report",),
    "responder": ("response",),
    "passage_extractor": ("spans",),
    "reporter": ("report", "calls", "text"),
    "verifier": ("verdicts",),
    "quick_verifier": ("verdicts",),
    "citation_arbiter": ("reasoning", "action", "number"),
    "number_checker": ("answers", "computation"),
    "claim_splitter": ("facts",),
    "entailment_judge": ("scores",),
    "reviser": ("sentence",),
}
_SPEAKING = {"synthesiser", "responder"}
_REVISING = ("claim_splitter", "entailment_judge", "reviser")
_CITATION_ROLES: dict[str, tuple[bool, tuple[str, ...]]] = {
    "extracts_with_model": (True, ("passage_extractor",)),
    "verifies": (
        True,
        ("verifier", "quick_verifier", "citation_arbiter", "number_checker", *_REVISING),
    ),
    "corrects": (True, ("citation_arbiter",)),
    "asks_arbiter": (False, ("citation_arbiter",)),
    "asks_about_numbers": (True, ("number_checker",)),
    "revises": (True, _REVISING),
}
"""By setting of `citation`: whether a depth may have it on, and the roles without work if not."""


class DeepResearchSettings(TypedDict, total=False):
    """The settings of a deep research; docs/guides/deep-research.md describes each."""

    light: DepthSettings
    medium: DepthSettings
    extended: DepthSettings
    citation: CitationSettings
    background_investigation: bool
    max_background_queries: int
    background_results_per_query: int
    max_background_results: int
    max_clarification_rounds: int
    max_clarifying_questions: int
    max_plan_iterations: int
    enforce_min_steps: bool
    max_generated_queries: int
    max_search_results: int
    content_preview: int
    content_storage: int
    max_previous_observations: int
    max_failed_steps: int
    search_timeout_s: float
    page_timeout_s: float
    simple_timeout_s: float
    web_search_timeout_s: float
    research_timeout_s: float
    research_share: float
    delivery_reserve_s: float
    history_turns: int
    temperature: float | None
    max_reasks: int
    output: Any


class DeepResearch(System[DeepResearchResult]):
    """Researches a question in steps, and writes a report whose claims are verified.

    A coordinator classifies the question, and may ask a person what it means. A planner takes it
    apart into steps. Each step is researched with searches and pages, and after each a reflector
    decides how to go on. The report is written from passages of the pages that were read; then each
    claim is checked against its evidence, its numbers as numbers with units, and what is not
    supported is corrected, softened or taken out. A thread keeps the conversation and its sources.

    Args:
        model: the model of every role that has no implementation, as for `ReviewLoop`.
        tools: what searches and what reads: tools with an argument ``query``, and tools with an
            argument ``url`` or ``path``, such as ``web_search()`` with ``read_page()``, or
            ``document_search(folder)`` of `antiphon.tools`.
        coordinator: the implementation of the role: an `antiphon.Agent` without tools, a model's
            name, a model, or a function of the brief (a dict with what the role reads, and
            ``schema``, the JSON Schema of its reply), which returns the reply.
        background: as `coordinator`; chooses the searches before the first plan.
        planner: as `coordinator`.
        researcher: as `coordinator`; chooses searches and pages, and words what a step has found.
        reflector: as `coordinator`; decides after each step how to go on.
        synthesiser: as `coordinator`; writes a report that is not verified.
        responder: as `coordinator`; answers without research.
        passage_extractor: as `coordinator`, like all that follow; chooses passages of pages.
        reporter: writes the report from numbered passages; with
            ``citation={"synthesis_mode": "react"}`` in turns, in which it looks passages up.
        verifier: judges claims by their evidence.
        quick_verifier: judges claims that are close to their evidence.
        citation_arbiter: decides which evidence a claim cites where scores leave it open; asked
            only with ``citation={"asks_arbiter": True}``.
        number_checker: compares the numbers of claims with those of their evidence.
        claim_splitter: takes claims apart into facts.
        entailment_judge: judges how far evidence entails facts.
        reviser: rewrites sentences so that they state no more than what is known.
        prompts: texts or paths that replace prompts, by their names in `System.prompts`.
        checkpointer: the store of the conversations, as for `ReviewLoop`.
        durability: as for `ReviewLoop`.
        budget: as for `ReviewLoop`.
        **settings: ``light``, ``medium`` and ``extended`` (the steps, words and calls of each
            depth; keys that are left out keep their defaults), ``citation`` (those of the stages
            of citation), ``max_plan_iterations`` (3), ``max_clarification_rounds`` (3),
            ``background_investigation`` (``True``), ``research_timeout_s`` (300),
            ``web_search_timeout_s`` (15), ``output`` (the form of the reports: a pydantic model,
            dataclass, ``TypedDict`` or JSON Schema; the result then has ``structured_output``);
            docs/guides/deep-research.md lists all.

    Raises:
        ValidationError: a setting, role or tool is invalid (``system_setting_invalid``,
            ``role_invalid``, ``role_unknown``, ``role_tools_invalid``); ``output`` has no JSON
            Schema (``unsupported_type``, ``schema_invalid``); or there is no model
            (``model_unavailable``).
        AuthError: the provider requires a key, and none was found (``model_key_missing``).

    Example:
        >>> from antiphon.models import scripted
        >>> model = scripted([{"json": {"response": "Hello! What shall I look up?"}}])
        >>> result = DeepResearch(model).run("Hello", query_mode="simple")
        >>> result.answer, result.research_outcome
        ('Hello! What shall I look up?', 'direct')
    """

    name = "deep_research"
    writes_reports = True
    _result = DeepResearchResult
    progress_reporter = ResearchProgress
    _roles: ClassVar[Mapping[str, RoleSpec]] = {
        role: RoleSpec(role, replies, speaks=role in _SPEAKING, view=dict)
        for role, replies in _REPLIES.items()
    }

    def __init__(
        self,
        model: str | Sequence[str | Model] | Model | None = None,
        *,
        tools: Iterable[Any] = (),
        coordinator: Any = None,
        background: Any = None,
        planner: Any = None,
        researcher: Any = None,
        reflector: Any = None,
        synthesiser: Any = None,
        responder: Any = None,
        passage_extractor: Any = None,
        reporter: Any = None,
        verifier: Any = None,
        quick_verifier: Any = None,
        citation_arbiter: Any = None,
        number_checker: Any = None,
        claim_splitter: Any = None,
        entailment_judge: Any = None,
        reviser: Any = None,
        prompts: Mapping[str, str | os.PathLike[str]] | None = None,
        checkpointer: Saver | str | None = None,
        durability: Durability = "async",
        budget: Budget | None = None,
        **settings: Unpack[DeepResearchSettings],
    ) -> None:
        output = settings.get("output")
        self._output = None if output is None else Output(output, "`output` of the deep research")
        if self._output is not None:
            settings["output"] = self._output.schema
        roles = {
            "coordinator": coordinator,
            "background": background,
            "planner": planner,
            "researcher": researcher,
            "reflector": reflector,
            "synthesiser": synthesiser,
            "responder": responder,
            "passage_extractor": passage_extractor,
            "reporter": reporter,
            "verifier": verifier,
            "quick_verifier": quick_verifier,
            "citation_arbiter": citation_arbiter,
            "number_checker": number_checker,
            "claim_splitter": claim_splitter,
            "entailment_judge": entailment_judge,
            "reviser": reviser,
        }
        super().__init__(
            model,
            roles=roles,
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
        query_mode: _Mode = "deep_research",
        research_depth: _Depth = "auto",
        verify_sources: bool | None = None,
        enable_clarification: bool = True,
        system_instructions: str | None = None,
        conversation_history: Sequence[Message] = (),
        existing_sources: Iterable[Source] = (),
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> DeepResearchResult:
        """Research a question and wait for the report, as `System.run`.

        Args:
            question: the question.
            query_mode: ``deep_research``; ``web_search``, one step within
                ``web_search_timeout_s``; ``simple``, an answer without research.
            research_depth: ``light``, ``medium`` or ``extended``; ``auto`` leaves it to the
                coordinator.
            verify_sources: whether each claim of the report is verified. Default: in a deep
                research only.
            enable_clarification: whether a person may be asked what the question means: the
                result is ``paused`` then.
            system_instructions: what the report has to observe.
            conversation_history: earlier messages, the latest last, each with ``role`` (``user``
                or ``assistant``) and ``content``; in place of those that the thread keeps.
            existing_sources: pages that are known already, beside those that the thread keeps:
                `ResearchSource` of an earlier result, or mappings with ``url`` and ``title``,
                ``snippet``, ``content``.
            thread: the conversation: the thread keeps its messages and sources.
            context: as in `System.run`.
            watch: as in `System.run`.

        Raises:
            ValidationError: as `System.run`.
            StateError: as `System.run`.
        """
        return super().run(
            question,
            query_mode=query_mode,
            research_depth=research_depth,
            verify_sources=verify_sources,
            enable_clarification=enable_clarification,
            system_instructions=system_instructions,
            conversation_history=conversation_history,
            existing_sources=existing_sources,
            thread=thread,
            context=context,
            watch=watch,
        )

    async def arun(
        self,
        question: str,
        *,
        query_mode: _Mode = "deep_research",
        research_depth: _Depth = "auto",
        verify_sources: bool | None = None,
        enable_clarification: bool = True,
        system_instructions: str | None = None,
        conversation_history: Sequence[Message] = (),
        existing_sources: Iterable[Source] = (),
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> DeepResearchResult:
        """Research a question, awaited, as `System.arun`.

        Args:
            question: the question.
            query_mode: as in `run`.
            research_depth: as in `run`.
            verify_sources: as in `run`.
            enable_clarification: as in `run`.
            system_instructions: as in `run`.
            conversation_history: as in `run`.
            existing_sources: as in `run`.
            thread: as in `run`.
            context: as in `System.run`.
            watch: as in `System.arun`.
        """
        return await super().arun(
            question,
            query_mode=query_mode,
            research_depth=research_depth,
            verify_sources=verify_sources,
            enable_clarification=enable_clarification,
            system_instructions=system_instructions,
            conversation_history=conversation_history,
            existing_sources=existing_sources,
            thread=thread,
            context=context,
            watch=watch,
        )

    def stream(
        self,
        question: str,
        *,
        query_mode: _Mode = "deep_research",
        research_depth: _Depth = "auto",
        verify_sources: bool | None = None,
        enable_clarification: bool = True,
        system_instructions: str | None = None,
        conversation_history: Sequence[Message] = (),
        existing_sources: Iterable[Source] = (),
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> SystemStream[DeepResearchResult]:
        """Research a question event by event, as `System.stream`.

        Args:
            question: the question.
            query_mode: as in `run`.
            research_depth: as in `run`.
            verify_sources: as in `run`.
            enable_clarification: as in `run`.
            system_instructions: as in `run`.
            conversation_history: as in `run`.
            existing_sources: as in `run`.
            thread: as in `run`.
            context: as in `System.run`.
            watch: as in `System.stream`.
        """
        return super().stream(
            question,
            query_mode=query_mode,
            research_depth=research_depth,
            verify_sources=verify_sources,
            enable_clarification=enable_clarification,
            system_instructions=system_instructions,
            conversation_history=conversation_history,
            existing_sources=existing_sources,
            thread=thread,
            context=context,
            watch=watch,
        )

    def astream(
        self,
        question: str,
        *,
        query_mode: _Mode = "deep_research",
        research_depth: _Depth = "auto",
        verify_sources: bool | None = None,
        enable_clarification: bool = True,
        system_instructions: str | None = None,
        conversation_history: Sequence[Message] = (),
        existing_sources: Iterable[Source] = (),
        thread: str | None = None,
        context: Any = None,
        watch: Watch = None,
    ) -> AsyncSystemStream[DeepResearchResult]:
        """`stream` for ``async for``.

        Args:
            question: the question.
            query_mode: as in `run`.
            research_depth: as in `run`.
            verify_sources: as in `run`.
            enable_clarification: as in `run`.
            system_instructions: as in `run`.
            conversation_history: as in `run`.
            existing_sources: as in `run`.
            thread: as in `run`.
            context: as in `System.run`.
            watch: as in `System.stream`.
        """
        return super().astream(
            question,
            query_mode=query_mode,
            research_depth=research_depth,
            verify_sources=verify_sources,
            enable_clarification=enable_clarification,
            system_instructions=system_instructions,
            conversation_history=conversation_history,
            existing_sources=existing_sources,
            thread=thread,
            context=context,
            watch=watch,
        )

    def _part(self, name: str, settings: Mapping[str, Any]) -> RoleSpec:
        del settings
        spec = self._roles[name]
        if name != "reporter" or self._output is None:
            return spec
        return replace(spec, replies=tuple(self._output.fields))

    def _working_roles(
        self, settings: Mapping[str, Any], prompts: Mapping[str, str]
    ) -> Iterable[str]:
        del prompts
        idle = set() if settings.get("background_investigation", True) else {"background"}
        given = settings.get("citation")
        citation = given if isinstance(given, Mapping) else {}
        for setting, (is_usual, roles) in _CITATION_ROLES.items():
            if not citation.get(setting, is_usual):
                idle.update(roles)
        return [name for name in self._roles if name not in idle]

    def _result_of(self, native: dict[str, Any], put: dict[str, Any]) -> DeepResearchResult:
        value = native["structured_output"]
        if self._output is not None and value is not None:
            made, refused = self._output.construct_rest(value)
            lost = (
                f"once verified, it does not fit its type and is left out: {it}" for it in refused
            )
            warnings = [*native["warnings"], *lost]
            native = {**native, "structured_output": made, "warnings": warnings}
        return super()._result_of(native, put)

    def _parts(
        self, known: Mapping[str, dict[str, Any]], parts: Mapping[str, Any]
    ) -> dict[str, Any]:
        del known
        return {"tools": {self.name: as_tools(parts["tools"])}}

    def _lifespans(self, options: Mapping[str, Any]) -> Lifespans:
        tools = (tool for own in self._tools.values() for tool in own)
        return Lifespans(tools, options["user_context"])

    def _input(self, question: Any, *, file: Any = None, **given: Any) -> dict[str, Any]:
        if file is not None:
            raise ValidationError(
                f"a deep research does not accept a file: {file}",
                code="input_invalid",
                hint="give it a tool that reads the file",
            )
        given["conversation_history"] = read_history(given.get("conversation_history", ()))
        given["existing_sources"] = read_sources(given.get("existing_sources", ()))
        return {"question": {"question": question, **given}}
