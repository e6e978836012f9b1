"""A compiled graph: running it, streaming it, resuming it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Never, Self

from antiphon._antiphon import Command, enclosing_context
from antiphon._sync_async import Routine, async_method, sync_method, twin
from antiphon._thread_store import saver_of
from antiphon._type_params import Generic, InputT, StateT
from antiphon.graph._batch import Batches
from antiphon.graph._breakpoints import no_breakpoints_within, read_stops
from antiphon.graph._input import concurrency_of, context_of, entry, limit_of, merge
from antiphon.graph._json_schemas import JsonSchemas
from antiphon.graph._langchain import entering, handed_on, without_tokens
from antiphon.graph._missing_options import refuse_missing, unknown_option
from antiphon.graph._run_handle import GraphOutput, Paused, RunHandle, by_id
from antiphon.graph._runnable import RunnableFace
from antiphon.graph._stream import check_version, pauses, read_stream_options
from antiphon.graph._thread import thread_of, without_checkpoint
from antiphon.graph._threads import Threads
from antiphon.graph._trace import Trace, is_traced

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from antiphon._antiphon import Engine, Saver, StreamOptions
    from antiphon._diagram import Diagram
    from antiphon._thread_store import Durability
    from antiphon.graph._breakpoints import Breakpoints, Stops
    from antiphon.graph._input import GraphInput
    from antiphon.graph._plan import GraphPlan
    from antiphon.graph._runtime import RunnableConfig
    from antiphon.graph._stream import StreamMode, Version

_SETTINGS = (
    "checkpointer",
    "interrupt_after_nodes",
    "interrupt_before_nodes",
    "name",
    "step_timeout",
    "stream_mode",
)


class CompiledGraph(RunnableFace, Batches, Threads, JsonSchemas, Generic[StateT, InputT]):
    """A graph that can run; `StateGraph.compile` makes it. Only its attributes can be changed.

    Each method has an async twin; both accept sync and async nodes. A graph may be invoked by
    another graph's node, or be a node.

    Attributes:
        name: the graph's name.
        stream_mode: the default mode of streams. Default: ``updates``.
        step_timeout: the longest a superstep may take, in seconds; a `StepTimeoutError` ends
            the run. Default: no limit.
        checkpointer: the store of its threads. Default: none.
        interrupt_before_nodes: the nodes before which runs stop. Default: none.
        interrupt_after_nodes: the nodes after which runs stop. Default: none.
    """

    def __init__(self, engine: Engine, plan: GraphPlan) -> None:
        self.name = plan.name
        self.stream_mode: StreamMode | Sequence[StreamMode] = "updates"
        self.step_timeout: float | None = None
        self.checkpointer: Saver | None = None
        self.interrupt_before_nodes: Stops = None
        self.interrupt_after_nodes: Stops = None
        self._engine = engine
        self._plan = plan
        self._bound: Mapping[str, Any] | None = None

    def invoke(
        self,
        input: GraphInput[InputT],  # noqa: A002 - LangGraph's name
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        stream_mode: StreamMode | Sequence[StreamMode] = "values",
        output_keys: str | Sequence[str] | None = None,
        durability: Durability | None = None,
        interrupt_before: Stops = None,
        interrupt_after: Stops = None,
        version: Version = "v1",
        **unknown: Never,
    ) -> Any:
        """Runs the graph until it ends or pauses.

        Args:
            input: the first writes: a dict of any of the state's keys, an instance of the
                schema, or a `Command`. On a thread, None continues from the last checkpoint, and
                ``Command(resume=...)`` answers a question, or several by a dict from their ids to
                answers.
            config: settings of this call; see `RunnableConfig`.
            context: ``runtime.context`` of the nodes; a dict is converted to the graph's
                ``context_schema``.
            stream_mode: with another mode than ``values``, the chunks of that stream.
            output_keys: the keys to return, or one key for its bare value. Default: those
                of the output schema.
            durability: when supersteps are durable; see `Durability`. Default: ``async``.
            interrupt_before: stops before these nodes run; the state at that point is returned,
                and on a thread ``invoke(None, config)`` continues. ``*`` for all nodes. Default:
                those of `StateGraph.compile`.
            interrupt_after: stops after these nodes have run. Default: as `interrupt_before`.
            version: ``v2`` for a `GraphOutput`; see `Version`.
            **unknown: refused. For an option of LangGraph, the error names what to use instead.

        Returns:
            The final state, or None if nothing was written. If a node asked a question, a
            `Paused`.

        Raises:
            GraphRecursionError: the limit of supersteps was reached.
            InvalidUpdateError: a node wrote what a key cannot take.
            EmptyInputError: there is no input.

        Exceptions of nodes are raised unchanged.
        """
        if unknown:
            raise unknown_option("invoke", unknown)
        if stream_mode != "values":
            streamed: dict[str, Any] = {"context": context, "output_keys": output_keys}
            streamed |= {"durability": durability, "version": version}
            streamed |= {"interrupt_before": interrupt_before, "interrupt_after": interrupt_after}
            return list(self.stream(input, config, stream_mode=stream_mode, **streamed))
        check_version(version)
        stops = (interrupt_before, interrupt_after)
        handle = self._launch(input, config, (context, durability, stops))
        return handle.output(output_keys, version, paused=handle.drain())

    async def ainvoke(
        self,
        input: GraphInput[InputT],  # noqa: A002
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        stream_mode: StreamMode | Sequence[StreamMode] = "values",
        output_keys: str | Sequence[str] | None = None,
        durability: Durability | None = None,
        interrupt_before: Stops = None,
        interrupt_after: Stops = None,
        version: Version = "v1",
        **unknown: Never,
    ) -> Any:
        """`invoke` on the caller's event loop."""
        if unknown:
            raise unknown_option("ainvoke", unknown)
        if stream_mode != "values":
            streamed: dict[str, Any] = {"context": context, "output_keys": output_keys}
            streamed |= {"durability": durability, "version": version}
            streamed |= {"interrupt_before": interrupt_before, "interrupt_after": interrupt_after}
            chunks = self.astream(input, config, stream_mode=stream_mode, **streamed)
            return [chunk async for chunk in chunks]
        check_version(version)
        stops = (interrupt_before, interrupt_after)
        handle = self._launch(input, config, (context, durability, stops))
        return handle.output(output_keys, version, paused=await handle.adrain())

    @refuse_missing
    def stream(
        self,
        input: GraphInput[InputT],  # noqa: A002
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        stream_mode: StreamMode | Sequence[StreamMode] | None = None,
        output_keys: str | Sequence[str] | None = None,
        subgraphs: bool = False,
        durability: Durability | None = None,
        interrupt_before: Stops = None,
        interrupt_after: Stops = None,
        version: Version = "v1",
    ) -> Iterator[Any]:
        """Runs the graph and yields chunks as they are produced.

        Args:
            input: as for `invoke`.
            config: as for `invoke`.
            context: as for `invoke`.
            stream_mode: one mode for bare chunks, a sequence for pairs of mode and chunk.
                See `StreamMode`. Default: the graph's own.
            output_keys: the keys to show of states and updates. Default: all.
            subgraphs: whether nested graphs show too; each chunk then begins with its
                namespace, a tuple that is empty for the graph itself.
            durability: as for `invoke`.
            interrupt_before: as for `invoke`.
            interrupt_after: as for `invoke`.
            version: ``v2`` for chunks that are dicts; see `Version`.

        Yields:
            Chunks. A run that pauses ends with ``{"__interrupt__": (Interrupt, ...)}``; one that
            stops at `interrupt_before` or `interrupt_after`, with an empty tuple there.

        Raises:
            GraphBuildError: a mode is unknown.

        It also raises what `invoke` raises. Closing the stream cancels the run.
        """
        mode = stream_mode or self.stream_mode
        stream_options = self._stream_options(mode, output_keys, version, subgraphs=subgraphs)
        stops = (interrupt_before, interrupt_after)
        handle = self._launch(input, config, (context, durability, stops), stream_options)
        with handle:
            yield from handle.chunks()
            while handle.asks_above():
                yield from handle.chunks()
        yield from pauses(handle, stream_options, output_keys, version)

    @refuse_missing
    async def astream(
        self,
        input: GraphInput[InputT],  # noqa: A002
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        stream_mode: StreamMode | Sequence[StreamMode] | None = None,
        output_keys: str | Sequence[str] | None = None,
        subgraphs: bool = False,
        durability: Durability | None = None,
        interrupt_before: Stops = None,
        interrupt_after: Stops = None,
        version: Version = "v1",
    ) -> AsyncIterator[Any]:
        """`stream` on the caller's event loop."""
        mode = stream_mode or self.stream_mode
        stream_options = self._stream_options(mode, output_keys, version, subgraphs=subgraphs)
        stops = (interrupt_before, interrupt_after)
        handle = self._launch(input, config, (context, durability, stops), stream_options)
        async with handle as run:
            async for chunk in run:
                yield chunk
            while handle.asks_above():
                async for chunk in run:
                    yield chunk
        for chunk in pauses(handle, stream_options, output_keys, version):
            yield chunk

    @sync_method
    def resume(self, paused: Paused | GraphOutput, answer: Any) -> Routine[Any]:
        """Answers questions of a paused run, and continues it.

        Args:
            paused: the result of `invoke` or `resume`.
            answer: the answer, or a dict from question ids to answers. Other questions stay
                open.

        Returns:
            As `invoke`. The limit of supersteps covers the run as a whole.

        Raises:
            GraphBuildError: the answer does not say which of several questions it is for,
                or the pause is over.

        Example:
            >>> from antiphon.graph import START, StateGraph, interrupt
            >>> def review(state: dict) -> dict:
            ...     return {"verdict": interrupt(f"is this good: {state['text']}?")}
            >>> builder = StateGraph(dict[str, str]).add_node(review).add_edge(START, "review")
            >>> graph = builder.compile()
            >>> paused = graph.invoke({"text": "draft"})
            >>> paused.interrupts[0].value
            'is this good: draft?'
            >>> graph.resume(paused, "yes")
            {'verdict': 'yes'}
        """
        handle, answers = by_id(paused, answer)
        version: Version = "v2" if isinstance(paused, GraphOutput) else "v1"
        if handle.again is not None:
            command = Command(resume=answers)
            return (yield twin(self, "invoke", command, version=version, **handle.again))
        handle.answer(answers)
        paused_again = yield twin(handle, "drain")
        return handle.output(None, version, paused=paused_again)

    aresume = async_method(resume)

    def with_config(self, config: RunnableConfig | None = None, **settings: Any) -> Self:
        """The same graph with default settings, which the config of a call is merged into.

        Args:
            config: settings.
            **settings: more of them, by name.
        """
        other = self.__class__(self._engine, self._plan)
        other.stream_mode = self.stream_mode
        other.step_timeout = self.step_timeout
        other.checkpointer = self.checkpointer
        other.interrupt_before_nodes = self.interrupt_before_nodes
        other.interrupt_after_nodes = self.interrupt_after_nodes
        other._bound = dict(merge(self._bound, config, settings))  # noqa: SLF001
        return other

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """The graph's name, for LangChain with a suffix or in place of a missing name.

        Args:
            suffix: what follows the name. Default: nothing.
            name: in place of the graph's name. Default: the graph's.
        """
        shown = name or self.name
        if not suffix:
            return shown
        return shown + suffix.title() if shown[0].isupper() else f"{shown}_{suffix.lower()}"

    @refuse_missing
    def get_graph(self) -> Diagram:
        """The diagram: nodes and edges."""
        return self._plan.diagram

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return self.get_graph()._repr_mimebundle_()

    def __setattr__(self, name: str, value: Any) -> None:
        # LangGraph's users set a time-out or a store here; an unknown setting would have no effect.
        known = name in _SETTINGS or name.startswith("_") or hasattr(type(self), name)
        if not known:
            raise AttributeError(f"a compiled graph has no such setting: {name}")
        value = saver_of(value) if name == "checkpointer" else value
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"CompiledGraph(name={self.name!r})"

    @property
    def tracks_progress(self) -> bool:
        """Whether a node has an idle time-out that progress resets."""
        return self._plan.tracks_progress

    @property
    def schemas(self) -> tuple[Any, ...]:
        """The classes of the graph's schemas."""
        return self._plan.schemas

    def engine_for(self, *, kept: bool) -> Engine | None:
        """The engine's graph, if another graph can contain it as it is.

        Args:
            kept: whether that graph has a checkpointer, which keeps both.

        Raises:
            GraphBuildError: it has breakpoints.
        """
        if self.interrupt_before_nodes or self.interrupt_after_nodes:
            raise no_breakpoints_within(self.name)
        plain = self._plan.is_plain and self._bound is None and self.step_timeout is None
        return self._engine if plain and (kept or self.checkpointer is None) else None

    def _stream_options(
        self, mode: Any, keys: str | Sequence[str] | None, version: Version, *, subgraphs: bool
    ) -> StreamOptions:
        options: dict[str, Any] = {"keys": keys, "version": version, "subgraphs": subgraphs}
        return read_stream_options(mode, schema=self._plan.output, **options)

    def _launch(
        self,
        start: Any,
        config: Any,
        about: tuple[Any, Durability | None, tuple[Stops, Stops]],
        stream_options: StreamOptions | None = None,
    ) -> RunHandle:
        context, durability, stops = about
        outer, plan = enclosing_context(), self._plan
        inherited = None if outer is None else handed_on(outer.config, outer)
        settings = merge(inherited, self._bound, config)
        # A run's id and name are its own: graphs that its nodes invoke do not inherit them.
        run_name, run_id = settings.pop("run_name", None), settings.pop("run_id", None)
        readers = []
        if outer is not None:
            settings["callbacks"] = without_tokens(settings.get("callbacks"))
            context = outer.context if context is None else context
            readers = outer.readers
        if stream_options is not None and stream_options.tokens is not None:
            readers.append(stream_options.tokens)
        for tokens in readers:
            tokens.begin(settings["metadata"])
        limit = limit_of(settings)
        thread = thread_of((self.checkpointer, plan), settings, outer, durability)
        nested = outer is not None and thread is None
        trace = None
        if is_traced(settings):
            name = run_name or self.name
            trace = Trace(settings, name, run_id, start, asks_above=nested)
            run_id = trace.id if run_id is None else run_id
        stops = (stops[0] or self.interrupt_before_nodes, stops[1] or self.interrupt_after_nodes)
        run = self._engine.start(
            entry(start, plan.input, kept=thread is not None),
            config=settings,
            context=context_of(context, plan.context_schema),
            limits=plan.limits,
            supersteps=limit,
            max_concurrency=concurrency_of(settings),
            stream_options=stream_options,
            parent=outer,
            on_enter=entering(
                settings,
                readers,
                progress=plan.tracks_progress,
                start_task=None if trace is None else trace.enter,
            ),
            on_task=None if trace is None else trace.note,
            step_timeout=self.step_timeout,
            breakpoints=self._breakpoints(stops, nested=nested) if any(stops) else None,
            thread_ref=None if thread is None else thread.ref(),
            registry=None if outer is None or outer.run.kept_in is None else plan.registry(),
            run_id=None if run_id is None else str(run_id),
        )
        about_run = (run, limit, plan)
        handle = RunHandle(*about_run) if trace is None else trace.handle(*about_run)
        if thread is not None:
            handle.again = {"config": without_checkpoint(settings), "context": context}
        return handle

    def _breakpoints(self, stops: tuple[Stops, Stops], *, nested: bool) -> Breakpoints:
        if nested:
            raise no_breakpoints_within(self.name)
        nodes = self._plan.nodes
        names = read_stops(stops[0], "interrupt_before", nodes)
        return names, read_stops(stops[1], "interrupt_after", nodes)
