"""
The native half of antiphon.
"""

from _typeshed import Incomplete
from collections.abc import Sequence
from datetime import datetime
from os import PathLike
from typing import Any, Final, Generic, Never, final

from typing_extensions import TypeVar, disjoint_base

_N = TypeVar("_N", default=Any)

@final
class Builder:
    """
    Collects a graph; `build` checks and freezes it.
    """
    def __new__(cls, /, name: str, *, by_name: bool = False, own_sight: bool = False, lenient: bool = False, exclusive: bool = False, full_output: bool = False, adapt: Any | None = None) -> Builder: ...
    def agent(self, /, name: str, **options) -> None:
        """
        Adds an agent as a node: its loop of model and tool calls runs natively.
        """
    def branch(self, /, source: str, name: str, router: Any, *, wants_ctx: bool = False, ends: dict | None = None, view: Any | None = None) -> None:
        """
        After `source` comes what `router` says.
        """
    def build(self, /) -> Engine:
        """
        Checks everything and freezes it.
        """
    def channel(self, /, name: str, merge: Any | None = None, *, default: Incomplete = ..., takes_context: bool = False) -> None:
        """
        Adds a key of the state. A merge function may want the run's context, as a keyword.
        """
    def edge(self, /, source: str, target: str) -> None:
        """
        After `source` comes `target`.
        """
    def join(self, /, sources: Sequence[str], target: str) -> None:
        """
        Once all of `sources` have run comes `target`.
        """
    def node(self, /, name: str, call: Any, **options) -> None:
        """
        Adds a callable as a node.
        """
    def on_error(self, /, node: str, policy: str, *, target: str | None = None, channel: str | None = None) -> None:
        """
        Says what happens when `node` fails for good.
        """
    def subgraph(self, /, name: str, engine: Engine, **options) -> None:
        """
        Adds a compiled graph as a node.
        """

@final
class CallClient:
    """
    The client that waits for a call, as the code that serves the call sees it.
    """
    def ask(self, /, message: str, schema: Any | None = None) -> Any:
        """
        Asks the person behind the client: an awaitable of the answer, `None` if it is declined.
        `schema` is that of the answer. Raises `mcp_client_silent`.
        """
    @property
    def can_ask(self, /) -> bool:
        """
        Whether a person can be asked through the client.
        """
    def report(self, /, done: float, total: float | None = None, message: str | None = None) -> None:
        """
        Tells the client how far the call is; does not wait. `done` must grow.
        """

@final
class CancellationToken:
    """
    Cancels the question or the run of a sandbox that has it. What a question did until then stays
    in its thread, which is free once the question has ended.
    """
    def __new__(cls, /) -> CancellationToken: ...
    def cancel(self, /, reason: str) -> None:
        """
        Cancel; the first reason counts.
        """
    @property
    def reason(self, /) -> str | None:
        """
        The reason, once it was cancelled.
        """

@final
class CheckpointSummary:
    """
    A checkpoint of a thread, without its state.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __repr__(self, /) -> str: ...
    @property
    def at(self, /) -> datetime:
        """
        When it was written, in UTC.
        """
    @property
    def id(self, /) -> int:
        """
        The checkpoint's id.
        """
    @property
    def next(self, /) -> list[str]:
        """
        The nodes that run next.
        """
    @property
    def parent(self, /) -> int | None:
        """
        The id of the checkpoint before it; `None` for the first.
        """
    @property
    def ran(self, /) -> list[str]:
        """
        The nodes that ran before it, if known.
        """
    @property
    def size(self, /) -> int:
        """
        The size of its entries in bytes.
        """
    @property
    def source(self, /) -> str | None:
        """
        The cause: `input`, `step` or `update`; `None` if unknown.
        """
    @property
    def step(self, /) -> int:
        """
        Supersteps of the thread so far.
        """

@final
class Command(Generic[_N]):
    """
    An update and the next nodes in one value: a node returns it, or a graph is resumed with it.

    Args:
        graph: `Command.PARENT` addresses the enclosing graph.
        update: writes, as a dict or a list of pairs.
        resume: answers to open questions.
        goto: a node's name, a `Send`, or a sequence of those.
        only: `goto` replaces the edges of the node instead of adding to them.
        end: the graph ends with this superstep.
    """
    PARENT: Final = "__parent__"
    """
    Addresses the enclosing graph.
    """
    __dataclass_fields__: Final[Any]
    """
    The fields, by which `dataclasses.replace` copies a command.
    """
    def __delattr__(self, name: str, /) -> None: ...
    def __eq__(self, other: object, /) -> Any: ...
    def __ge__(self, other: object, /) -> Any: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple, dict]: ...
    def __gt__(self, other: object, /) -> Any: ...
    def __hash__(self, /) -> int: ...
    def __le__(self, other: object, /) -> Any: ...
    def __lt__(self, other: object, /) -> Any: ...
    def __ne__(self, other: object, /) -> Any: ...
    def __new__(cls, /, *, graph: str | None = None, update: Any | None = None, resume: Any | None = None, goto: Any | None = None, only: bool = False, end: bool = False) -> Command: ...
    def __repr__(self, /) -> str: ...
    def __setattr__(self, name: str, value: Any, /) -> None:
        """
        LangGraph's users expect the exception of a frozen dataclass.
        """
    @property
    def end(self, /) -> bool: ...
    @property
    def goto(self, /) -> Any: ...
    @property
    def graph(self, /) -> str | None: ...
    @property
    def only(self, /) -> bool: ...
    @property
    def resume(self, /) -> Any | None: ...
    @property
    def update(self, /) -> Any | None: ...

@final
class CompiledSchema:
    """
    A JSON schema, compiled as those of replies are.

    Raises the `antiphon.errors` class of `schema_invalid` if it is none.
    """
    def __new__(cls, /, name: str, schema: Any) -> CompiledSchema: ...
    def violations(self, /, value: Any) -> list[tuple[str, str, str]]:
        """
        Where a value does not fit: the JSON pointer, what is expected there, and what is there.
        """

@final
class Context:
    """
    The context of a node of a graph, or of a role of a ready system, while it runs. A role
    has no run that Python drives: what belongs to that raises a `RuntimeError` there.
    """
    def __repr__(self, /) -> str: ...
    @property
    def answers(self, /) -> list[Any]:
        """
        The answers given to this node so far, in the order it asked.
        """
    def ask(self, /, question: Any) -> Any:
        """
        Asks the caller of the graph. Returns the answer if there is one; else the
        run pauses, and the node begins again once it is answered.
        """
    @property
    def attempt(self, /) -> int:
        """
        1 for the first attempt.
        """
    def begin_call(self, /, callee: tuple[str, str], given: Any, repeatable: bool, within: str | None = None) -> Effect:
        """
        Begins a call unless it is known what came of it: of a `tool`, a `model` or a `step`,
        and its name.
        `given` is what it is given: a node that begins again gives it the same. It counts
        against the budgets when it is made. `repeatable` says that it may be made twice, and
        `within` is the key of the call of the node that it is part of; a role's calls are not
        distinguished from those within them.

        Raises the `antiphon.errors` class of `unknown_outcome` if it was begun before and
        nobody knows what came of it; of `replay_diverged` if the node does something else than
        it had; and as `request`.
        """
    def budget_left(self, /) -> dict[Any, Any]:
        """
        What the budgets around the node leave in calls, tokens and retries, by the names of
        `Limits`.
        """
    def charge(self, /, input_tokens: int, output_tokens: int) -> None:
        """
        Counts what a call of a model cost against the budgets.
        """
    def chunk(self, /, text: str) -> None:
        """
        Shows a piece of a reply that is still being written.
        """
    @property
    def config(self, /) -> Any:
        """
        What the caller passed as `config`.
        """
    @property
    def context(self, /) -> Any | None:
        """
        What the caller passed as `context`; of a role, with the question.
        """
    @property
    def deadline(self, /) -> float | None:
        """
        When the attempt will be given up, in seconds since the Unix epoch.
        """
    def emit(self, /, payload: Any, name: str | None = None) -> None:
        """
        Emits an event to the watchers of the run. Of a role, `payload` is a JSON value.
        """
    @property
    def error(self, /) -> Any | None:
        """
        The failure that this node handles in another's place.
        """
    @property
    def failed_node(self, /) -> str | None:
        """
        The name of the node whose failure this one handles.
        """
    def heartbeat(self, /) -> None:
        """
        Says that the node is alive, which puts its idle time-out off.
        """
    def known_call(self, /, callee: tuple[str, str], given: Any, repeatable: bool, within: str | None = None) -> Effect | None:
        """
        A call that was made before this node began again, as `begin_call` finds it, which must
        not look for it again; none if it is to be made. Nothing begins, and nothing counts.
        """
    @property
    def node(self, /) -> str:
        """
        The name of the node or the role.
        """
    @property
    def path(self, /) -> tuple:
        """
        The names of the nodes that lead here, its own last.
        """
    def pause(self, /, question: Any, question_id: str | None = None) -> BaseException:
        """
        What carries a question out of the node, to be raised; one of a run that the node has
        started has its id there. The node pauses for it, and begins again once it is answered.
        """
    def progress(self, /) -> None:
        """
        Says that the node gets on with its work, which puts its idle time-out off
        unless only heartbeats count for it.
        """
    @property
    def readers(self, /) -> list[Any]:
        """
        The streams that show tokens of graphs that the node invokes.
        """
    def relay(self, /, event: Event) -> None:
        """
        Adds an event of a run that the node has started to this run's events, below the node.
        """
    def relayed(self, /, id: str) -> tuple[Any] | None:
        """
        The answer to a question of a run that the node has started, by the question's id
        there, in a tuple; none if there is no answer yet.
        """
    def request(self, /, kind: str) -> None:
        """
        Counts a call of a model or tool against the budgets.
        """
    @property
    def run(self, /) -> Run:
        """
        The run this node belongs to.
        """
    @property
    def run_id(self, /) -> str:
        """
        The run's id.
        """
    @property
    def step(self, /) -> int:
        """
        The superstep, from 1; of a role a number that is the same in each attempt of one
        execution, and in no other.
        """
    @property
    def supersteps(self, /) -> int:
        """
        The supersteps that the run has spent so far, those of nested graphs included.
        """
    def token(self, /, reader: Any, payload: Any) -> None:
        """
        Shows a token to the one stream that has `reader` as its `tokens`.
        """
    @property
    def watched(self, /) -> bool:
        """
        Whether somebody wants to see events while it runs.
        """
    def when_cancelled(self, /, callback: Any) -> None:
        """
        Has `callback` called, on some thread, once nobody waits for the role.
        """

@final
class Effect:
    """
    One call that a node wants to make. Its outcome is returned if it is known; else the
    call is begun here, and ended with `returned`, `raised` or `left`. Before and after the
    call, its records may have to be waited for.
    """
    def __repr__(self, /) -> str: ...
    def arrive(self, /) -> Any:
        """
        `wait`, awaited.
        """
    def describe(self, /, details: Any) -> None:
        """
        Adds fields to the event of its end: the model that answered, what it cost.
        """
    def is_of(self, /, context: Context) -> bool:
        """
        Whether it is a call of the node that `context` is of.
        """
    def keep_question(self, /, question: Any, question_id: str | None = None) -> None:
        """
        Keeps a question without an answer that part of the call has asked.
        """
    @property
    def key(self, /) -> str:
        """
        Passed to the callee: the same each time the node makes this call, in each attempt
        and after a restart, and different for every other call. Empty if it was made before.
        """
    @property
    def known(self, /) -> bool:
        """
        Whether it was made before: `result` is what came of it.
        """
    @property
    def pending(self, /) -> bool:
        """
        Whether something must be durable before the node continues.
        """
    def raised(self, /, error: Any) -> None:
        """
        The call has raised an exception. One that only stops the node, and says nothing about
        the call, leaves open what came of it.
        """
    def result(self, /) -> Any:
        """
        What came of a call that was made before, returned or raised.
        """
    def returned(self, /, value: Any) -> Any:
        """
        The call has returned a value, which is what the node gets: that of a tool without known
        keys of models. If part of it has asked, the question is raised instead, and the call is
        made again once that is answered.

        Raises the `antiphon.errors` class of `value_unstorable` if it cannot be stored and
        the run is kept.
        """
    def wait(self, /) -> None:
        """
        Waits until it is.
        """

@final
class Engine:
    """
    A compiled graph; immutable, and shareable between threads and runs.
    """
    def aorphans(self, /, thread_ref: ThreadRef) -> Any:
        """
        `orphans` on the caller's event loop.
        """
    def history(self, /, thread_ref: ThreadRef, *, live: bool = False) -> History:
        """
        What a thread held at its checkpoints, newest first: from the checkpoint of `thread_ref`
        back. With `live`, the newest shows what tasks of an open superstep have done.
        """
    @property
    def name(self, /) -> str:
        """
        The graph's name.
        """
    @property
    def nodes(self, /) -> list[str]:
        """
        The names of the nodes, in the order in which they were added.
        """
    def orphans(self, /, thread_ref: ThreadRef) -> list[str]:
        """
        The threads in the store of `thread_ref` whose last run was one of this graph and was
        lost: it neither ended nor paused, and nobody drives it.
        """
    def start(self, /, input: Any | None = None, *, config: Any | None = None, context: Any | None = None, limits: Limits | None = None, supersteps: int | None = None, max_concurrency: int | None = None, stream_options: StreamOptions | None = None, parent: Context | None = None, on_enter: Any | None = None, on_task: Any | None = None, step_timeout: float | None = None, breakpoints: tuple[Sequence[str], Sequence[str]] | None = None, events: bool = False, thread_ref: ThreadRef | None = None, registry: Any | None = None, run_id: str | None = None, seed: int | None = None) -> Run:
        """
        Starts a run. Nothing happens before it is waited for, awaited or iterated.

        Args:
            input: the first writes: a dict, a command, or nothing.
            config: what nodes reach as `Context.config`.
            context: what nodes reach as `Context.context`.
            limits: what the run may spend.
            supersteps: in place of the supersteps of `limits`.
            `max_concurrency`: nodes that run at a time; no limit by default.
            `stream_options`: what the caller wants to see by iterating; nothing by default.
            parent: the node that starts it: it is a part of that node, and resumes where it was
                when the node begins again, unless it has its own `thread_ref`. The node's run may
                want to show it too.
            `on_enter`: called for each node before it, in the copy of the context
                variables that is the node's, with its context and where it stands.
            `on_task`: called with a dict when a task begins, and when it ends.
            `step_timeout`: seconds that each superstep may take.
            `breakpoints`: the names of the nodes before which it stops, and after which.
            events: whether events are kept for the result.
            `run_id`: a new one by default.
            `thread_ref`: the thread that keeps it; none by default. Without an input it resumes
                there.
            registry: which types it may hold, if it is a part of a node whose run is kept.
            seed: where ids and jitter come from; drawn by default.
        """

@final
class Event:
    """
    One thing that happened in a run.

    Args:
        `run_id`: the run it belongs to.
        seq: counts from 1 within the run, without gaps.
        at: when, in UTC.
        path: the names of the nodes that lead to where it happened; empty for the run itself.
        kind: what happened: `run_started`, `run_finished`, `node_started`, `node_finished`,
            `edge_taken`, `state_updated`, `model_call`, `model_reply`, `output_repaired`,
            `tool_call`, `tool_result`, `retry`, `budget`, `checkpoint`, `interrupt`, `error`,
            `custom`, `chunk`, a piece of a model's reply with its text in `data["text"]`, or
            `dropped`, the `count` of pieces that a slow reader missed.
        name: the node, tool, model or custom event it is about.
        data: fields that depend on the kind, made of JSON values.
        level: `debug`, `info`, `warning` or `error`.
        `span_id`: one per execution of a node; 16 hexadecimal digits.
        `parent_span_id`: the span that contains this one; none for the run's own.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, run_id: str, seq: int, at: datetime, path: Sequence[str], kind: str, name: str, data: dict | None = None, level: str = "info", span_id: str = "", parent_span_id: str | None = None) -> Event: ...
    def __reduce__(self, /) -> tuple[type, tuple]: ...
    def __repr__(self, /) -> str: ...
    def __str__(self, /) -> str: ...
    @property
    def agent(self, /) -> str:
        """
        The node it happened in; empty for the run itself.
        """
    @property
    def at(self, /) -> datetime:
        """
        When, in UTC.
        """
    @property
    def data(self, /) -> dict:
        """
        Fields that depend on the kind.
        """
    @property
    def kind(self, /) -> str:
        """
        What happened, for instance `node_finished`.
        """
    @property
    def level(self, /) -> str:
        """
        `debug`, `info`, `warning` or `error`.
        """
    @property
    def name(self, /) -> str:
        """
        The node, tool, model or custom event it is about.
        """
    @property
    def parent_span_id(self, /) -> str | None:
        """
        The span that contains this one; none for the run's own.
        """
    @property
    def path(self, /) -> tuple:
        """
        The names of the nodes that lead to where it happened; empty for the run itself.
        """
    @property
    def run_id(self, /) -> str:
        """
        The run it belongs to.
        """
    @property
    def seq(self, /) -> int:
        """
        Counts from 1 within the run.
        """
    @property
    def span_id(self, /) -> str:
        """
        One per execution of a node; 16 hexadecimal digits.
        """
    @property
    def text(self, /) -> str:
        """
        The piece of a model's reply, if it is a `chunk`; else empty.
        """
    def to_dict(self, /) -> dict:
        """
        All of it as a dict of JSON values; `at` is RFC 3339 text with microseconds.
        """

@final
class GatedCall:
    """
    A call that a gate has let through.
    """
    def cancel(self, /) -> None:
        """
        The call was cancelled, which says nothing about the tool.
        """
    def finish(self, /, failed: bool) -> None:
        """
        The call has ended: `failed` says whether the tool could not be reached.
        """

@final
class History:
    """
    What a thread held at its checkpoints, newest first, read as far as it is asked for.
    """
    def apage(self, /, most: int = ...) -> Any:
        """
        `page` on the caller's event loop.
        """
    def page(self, /, most: int = ...) -> list:
        """
        The next checkpoints, each as a dict, at most so many; none at the end.
        """

@final
class LangGraphThreads:
    """
    Checkpoints that LangGraph makes, in the threads of a saver's store. Each method returns a
    `PendingResult`.

    Args:
        saver: where they are kept.
        registry: the types of values beyond Python's own plain ones.
        serde: a serializer of LangGraph's, to be used for values instead.
    """
    def __new__(cls, /, saver: Saver, registry: Any, serde: Any | None = None) -> LangGraphThreads: ...
    def checkpoints(self, /, thread: str) -> PendingResult:
        """
        Namespace, id, parent's id and run's id of all checkpoints of a thread, in the order
        of namespaces and ids.
        """
    def copy(self, /, source: str, target: str) -> PendingResult:
        """
        Adds all checkpoints of a thread to another one.
        """
    def delete(self, /, thread: str) -> PendingResult:
        """
        Removes a thread.
        """
    def get(self, /, thread: str, key: tuple[str, str | None], is_wanted: Any | None = None) -> PendingResult:
        """
        The checkpoint of a namespace and an id, or the last one of its namespace if no id is
        given: its id, that of its parent, its head, values and writes (task, channel, value).
        None if there is none, or if `is_wanted` returns false for its metadata.
        """
    def page(self, /, thread: str, filter: tuple[str | None, str | None, str | None], page: tuple[tuple[str, str] | None, int]) -> PendingResult:
        """
        Namespaces and ids of a thread's checkpoints, newest first.

        Args:
            thread: the thread's id.
            filter: a namespace, an id, and an id that they are older than, or None for each.
            page: the last of the page before, or None, and how many at most.
        """
    def put(self, /, thread: str, keys: tuple[str, str, str | None], head: tuple, values: tuple[dict, set[str]], origin: tuple[str | None, int]) -> PendingResult:
        """
        Stores a checkpoint.

        Args:
            thread: the thread's id.
            keys: its namespace, its id and that of its parent.
            head: the checkpoint without its values, and its metadata.
            values: its values by channel, and the channels whose values are not the parent's.
            origin: the id of its run and the number of its superstep.
        """
    def put_writes(self, /, thread: str, keys: tuple[str, str, str, str], writes: Sequence[tuple[int, str, Any]]) -> PendingResult:
        """
        Stores what a task wrote at a checkpoint.

        Args:
            thread: the thread's id.
            keys: the checkpoint's namespace and id, the task's id and path.
            writes: index, channel and value of each write.
        """
    def remove(self, /, thread: str, keys: set[tuple[str, str]]) -> PendingResult:
        """
        Removes the checkpoints with these namespaces and ids from a thread, and the thread if
        it has no others.
        """
    def threads(self, /) -> PendingResult:
        """
        The ids of all threads and when each was written to, in microseconds since 1970; the
        latest first.
        """

@final
class Limits:
    """
    What a run may spend.

    Args:
        supersteps: rounds of the graph.
        `model_calls`: calls of models.
        `tool_calls`: calls of tools.
        `input_tokens`: tokens read by models.
        `output_tokens`: tokens written by models.
        retries: repeated attempts of nodes.
        `wall_time`: seconds.

    What is not given, or `None`, is not limited.
    """
    def __new__(cls, /, **limits) -> Limits: ...

@final
class MemorySaver(Saver):
    """
    Threads in memory, which end with the process or the saver.

    `keep_last`, `keep_for` and `keep_bytes` are those of `SqliteSaver.open`.
    """
    def __new__(cls, /, *, keep_last: "int | None" = None, keep_for: Any | None = None, keep_bytes: "int | None" = None) -> MemorySaver: ...

@final
class Model:
    """
    A language model.
    """
    def __repr__(self, /) -> str: ...
    def acall(self, /, request: Any) -> Any:
        """
        `call` on the caller's event loop.
        """
    def call(self, /, request: Any) -> Any:
        """
        Sends a request and waits for the reply. `request` has `messages` and, optionally, `tools`,
        `schema`, `temperature`, `max_output_tokens` and `tags`.
        """
    @staticmethod
    def fallback(models: Sequence[Model]) -> Model:
        """
        The first of `models` that is available replies.
        """
    @property
    def name(self, /) -> str:
        """
        The name in traces.
        """
    @staticmethod
    def open(name: str, env: dict[str, str], settings: dict) -> Model:
        """
        Opens a model by its name, for instance `openai:gpt-5-mini`. No request is sent yet. Keys
        and addresses that are not among its `settings` come from `env`.
        """
    def record(self, /, path: str | PathLike[str]) -> Model:
        """
        This model, with its requests and replies recorded in a new file.
        """
    @staticmethod
    def replay(path: str | PathLike[str]) -> Model:
        """
        A model that repeats the replies of a recording.
        """
    @property
    def requests(self, /) -> Any:
        """
        The requests that a scripted model has received, as dicts.
        """
    @staticmethod
    def scripted(replies: Any, *, name: str | None = None, branches: Sequence[tuple[str, str, Any]] = ...) -> Model:
        """
        A model with prepared replies: texts, or dicts with `text`, `json`, `tool_calls`, `finish`,
        `usage`, `delay` or `fault`. `branches` gives separate replies to requests with a tag: its
        key, its value and the replies. `antiphon.models.scripted` takes more kinds of replies.

        Raises a `ValidationError` with the code `script_invalid` for a reply of another kind.
        """

@final
class ModelCall:
    """
    One request to Python code that stands for a model.
    """
    def chunk(self, /, text: str) -> None:
        """
        Shows a piece of a reply that is still being written.
        """
    @property
    def watched(self, /) -> bool:
        """
        Whether somebody wants to see the reply piece by piece.
        """
    def when_cancelled(self, /, callback: Any) -> None:
        """
        Has `callback` called, on some thread, once nobody waits for the reply.
        """

@final
class NativeMcpClient:
    """
    A client of one MCP server. It connects when it is needed.
    """
    def __new__(cls, /, settings: dict, *, elicit: Any | None = None, asks: bool = False, sampling: Model | None = None, login: Any | None = None) -> NativeMcpClient:
        """
        Checks the settings; starts nothing. `elicit` answers the questions of the server: it gets
        a dict, on a thread of its own. With `asks`, the run that makes a call asks them. The server
        may ask `sampling`, a model. `login` shows people the page on which they permit access: it
        gets its address, on a thread of its own, and may return the one to which the page has led.
        Raises `tool_setting_invalid`.
        """
    def close(self, /) -> None:
        """
        Ends the connection: its process is gone when this returns. The next call would connect
        again.
        """
    def connect(self, /) -> None:
        """
        Connects, unless it is connected. Ctrl-C stops waiting. Raises `mcp_unreachable`,
        `mcp_handshake_failed`, `mcp_unauthorized`.
        """
    def revision(self, /) -> str | None:
        """
        The revision of the protocol that is spoken; `None` while nothing is connected.
        """
    @property
    def server(self, /) -> str:
        """
        The program, or the address without secrets.
        """
    def tools(self, /) -> list[NativeTool]:
        """
        Connects, and returns the tools that were chosen. Raises as `connect`, and
        `mcp_tool_unknown`, `mcp_reply_invalid`, `tool_timeout`.
        """

@final
class NativeMcpServer:
    """
    A server over HTTP, until it is stopped.
    """
    @staticmethod
    def start(tools: Sequence[tuple[dict, Any]], settings: dict, port: int) -> NativeMcpServer:
        """
        Listens on a port; 0 for any that is free. Each of `tools` is a dict with `name`,
        `description`, `parameters`, `side_effect` and `idempotent`, with the function that starts
        its calls. Raises `tool_setting_invalid`, `mcp_server_failed`.
        """
    def stop(self, /) -> None:
        """
        Stops it: sessions and calls end.
        """
    @property
    def url(self, /) -> str:
        """
        The address for clients on this machine.
        """
    def wait(self, /) -> None:
        """
        Waits until it is stopped, or for Ctrl-C.
        """

@final
class NativeQueue:
    """
    A queue of sub-tasks, for systems and workers.
    """
    @staticmethod
    def connect(url: str, name: str, **options) -> NativeQueue:
        """
        Connects to a NATS server. Options: `user`, `password`, `token`, and the paths
        `credentials_file`, `ca_file`, `certificate_file` and `key_file`.
        """
    @staticmethod
    def memory() -> NativeQueue:
        """
        A queue within this process.
        """
    @property
    def name(self, /) -> str:
        """
        What people call it: the address of its server, without any secret.
        """

@final
class NativeSandbox:
    """
    An engine that runs code in workers of this machine. It starts nothing
    until it is asked for something.
    """
    def __new__(cls, /, settings: dict) -> NativeSandbox: ...
    def close(self, /) -> None:
        """
        Ends every worker, those of sessions and of jobs that run too, and waits until they
        are gone. Jobs that run are cancelled.
        """
    def run(self, /, job: dict, call: Any | None = None, cancel: CancellationToken | None = None) -> dict:
        """
        Runs a job in a clean interpreter. `call` makes the calls of the host's
        functions, on another thread; `cancel` ends the job.
        """
    def session(self, /) -> NativeSession:
        """
        Opens an interpreter that keeps its names from job to job.
        """

@final
class NativeSession:
    """
    An interpreter that lives on between jobs.
    """
    def close(self, /) -> None:
        """
        Ends its worker.
        """
    def run(self, /, job: dict, call: Any | None = None, cancel: CancellationToken | None = None) -> dict:
        """
        Runs a job in it, after those that are running already.
        """

@final
class NativeSystem:
    """
    A ready system, for any number of questions at once.
    """
    def __new__(cls, /, name: str, settings: dict, given: dict) -> NativeSystem:
        """
        Checks settings and resources; nothing is called yet. `given` has `roles` and `tools` by
        name, `prompts` by name, `sandbox`, an engine with what stops its jobs, and `queue`.
        """
    def __repr__(self, /) -> str: ...
    def aask(self, /, question: Any, **options) -> Any:
        """
        The same, awaited. Cancelling the caller's task drops the question at once; `cancel`, a
        `CancellationToken`, has it end in order. `watch` is called on separate threads, one event after
        the other.
        """
    def aedit(self, /, place: ThreadRef, values: Any) -> Any:
        """
        `edit` on the caller's event loop.
        """
    def aorphans(self, /, place: ThreadRef) -> Any:
        """
        `orphans` on the caller's event loop.
        """
    def ask(self, /, question: Any, **options) -> dict:
        """
        Takes a question to where it rests and waits for it. Ctrl-C cancels it. Options:
        `thread` (where it is kept), `how` (`once`: a question that the thread holds is not
        started again; `again`: unless it has ended; `resume`: the question in the thread goes
        on, and the one that is given does not count), `answer` (to the only open question, in a tuple) or
        `answers` (pairs of the id of a question and its answer), `attachments` (bytes by name), `call` (answers the calls of code in a
        sandbox), `limits` (what it may spend beside the settings), `run_id`, `seed`, `cancel`, `watch` (called with each event), and `about` (what
        the Python code of roles sees of the caller).
        """
    def completed_outcome(self, /, state: Any) -> str:
        """
        How a question ended whose graph came to its end in this state.
        """
    def drawing(self, /) -> Any:
        """
        The nodes and edges of its graph, for drawing.
        """
    def edit(self, /, place: ThreadRef, values: Any) -> int:
        """
        Merges values into the state of a thread, in the name of the node that `place` names.
        Returns the new checkpoint.
        """
    def history(self, /, place: ThreadRef, *, live: bool = False) -> History:
        """
        What a thread held at its checkpoints, as `Engine.history` shows it.
        """
    @property
    def nodes(self, /) -> list[str]:
        """
        The names of its nodes.
        """
    def orphans(self, /, place: ThreadRef) -> list[str]:
        """
        The threads in the store of `place` whose last run was one of this system and was lost.
        """
    @property
    def prompts(self, /) -> dict[str, str]:
        """
        Its prompts as they are read, by `NAME.TIER`.
        """

@final
class NativeTool:
    """
    A tool whose code is native. Agents and ready systems call it without Python.
    """
    def __repr__(self, /) -> str: ...
    def acall(self, /, arguments: Any, **options) -> Any:
        """
        `call` on the caller's event loop; cancelling its task drops the call.
        """
    def approve(self, /, arguments: Any) -> Any:
        """
        The tool's own decision about a call, if its spec says that the host approves: true, false,
        or the reason against it.
        """
    def call(self, /, arguments: Any, **options) -> Any:
        """
        Calls the tool and waits for its result, a JSON value. Ctrl-C drops the call.

        `options` are `timeout` in seconds, infinite for none (by default that of the tool),
        `call_id`, `idempotency_key`, the `answers` to its questions so far, if it can ask, and
        `note`, which is called with the name and the data of each event of the call. Raises
        `invalid_value`, `tool_timeout`, `question_asked`, or the failure of the tool.
        """
    @property
    def description(self, /) -> str:
        """
        What it does, as models read it.
        """
    def gated(self, /, gate: ToolGate) -> NativeTool:
        """
        The same tool behind a gate.
        """
    @property
    def name(self, /) -> str:
        """
        The name that models read.
        """
    def read(self, /, arguments: Any) -> Any:
        """
        The arguments as the tool gets them: validated, with defaults, and converted where that is
        safe. Raises `invalid_value`.
        """
    @property
    def spec(self, /) -> Any:
        """
        The tool as models and the engine see it, as an `antiphon.ToolSpec`.
        """

@final
class NativeWorker:
    """
    A worker of a system. It works once.
    """
    def __new__(cls, /, system: NativeSystem, queue: NativeQueue, **options) -> NativeWorker:
        """
        Carries out what `system` would send over `queue`. Options: `roles` (a list of names),
        `concurrency` (of each role), `drain` (seconds) and `user_context`.
        """
    @property
    def roles(self, /) -> dict[str, list[str]]:
        """
        The names of the tools by role.
        """
    def run(self, /, watch: Any) -> dict:
        """
        Works until it is stopped, and returns how many sub-tasks were `completed`, `failed` and
        `dropped`. `watch` is called with a dict for each notice. Ctrl-C stops it and is raised
        once it has ended; a second one has it give back what it has begun.
        """
    def stop(self, /, now: bool) -> None:
        """
        Has it take nothing more; `now`: and give back what it has begun.
        """

@final
class Overwrite:
    """
    Replaces the value of a key, bypassing its reducer.
    """
    def __eq__(self, other: object, /) -> Any:
        """
        Equality without a hash, as of a dataclass that is not frozen.
        """
    def __ge__(self, other: object, /) -> Any:
        """
        Equality without a hash, as of a dataclass that is not frozen.
        """
    def __getnewargs__(self, /) -> tuple[Any]: ...
    def __gt__(self, other: object, /) -> Any:
        """
        Equality without a hash, as of a dataclass that is not frozen.
        """
    def __le__(self, other: object, /) -> Any:
        """
        Equality without a hash, as of a dataclass that is not frozen.
        """
    def __lt__(self, other: object, /) -> Any:
        """
        Equality without a hash, as of a dataclass that is not frozen.
        """
    def __ne__(self, other: object, /) -> Any:
        """
        Equality without a hash, as of a dataclass that is not frozen.
        """
    def __new__(cls, /, value: Any) -> Overwrite: ...
    def __repr__(self, /) -> str: ...
    @property
    def value(self, /) -> Any: ...

@final
class PausedRun:
    """
    What a result needs to be resumed without a thread, once.
    """
    def __reduce__(self, /) -> tuple[Any, tuple[()]]:
        """
        A copy from a pickle holds nothing: another process has none of the run.
        """

@final
class PendingResult:
    """
    The result of work on a store: `wait` blocks until it is there, `await` suspends the caller.
    One of the two is done, once.
    """
    def __await__(self, /) -> Any: ...
    def wait(self, /) -> Any:
        """
        Blocks until the result is there, and returns it.
        """

@final
class PieceRedactor:
    """
    Removes known keys of models from a text that arrives in pieces. What may be the beginning of a
    key is held back until the next piece.
    """
    def __new__(cls, /) -> PieceRedactor: ...
    def finish(self, /) -> str:
        """
        What was held back, once the text has ended.
        """
    def push(self, /, text: str) -> str:
        """
        What can be shown once a piece has arrived; it may be empty.
        """

@final
class PostgresSaver(Saver):
    """
    Threads in a PostgreSQL database, which several machines may share. Leases use the clock of
    the database.
    """
    def __new__(cls, /, *_given: "Any", **_options: "Any") -> PostgresSaver:
        """
        Only tells how one is opened.
        """
    @staticmethod
    def from_conn_string(conn_string: str) -> PostgresSaver:
        """
        `open`, under LangGraph's name.
        """
    @staticmethod
    def open(url: str, *, key: "bytes | Sequence[bytes] | None" = None, schema: str = "antiphon", pool: int = 4, timeout: float = 30.0, pickle: bool = False, keep_last: "int | None" = None, keep_for: Any | None = None, keep_bytes: "int | None" = None) -> PostgresSaver:
        """
        Connects to a database, and creates or migrates the tables.

        `url` is libpq's: `postgres://user:password@host:5432/database`, with options such as
        `sslmode` (`disable`, `prefer`, `require`, `verify-ca` or `verify-full`; default: `prefer`)
        and `sslrootcert`. With a `key` of 32 bytes, entries are encrypted and authenticated
        (XChaCha20-Poly1305), and no others are read; of a list of keys, the first one writes and all
        of them read, until `rekey` has run. `schema` is the schema of the tables, created if needed.
        There are at most `pool` connections (1 to 64), opened on demand. `timeout` is the time limit
        of a statement in seconds; for the same time, statements are retried while connections break
        or the database is down. With `pickle` and a key, objects of unknown types are pickled;
        everyone who has the key can then run code here. `keep_last`, `keep_for` and `keep_bytes` are
        those of `SqliteSaver.open`.

        Raises the `antiphon.errors` class of `store_setting_invalid` if the URL or a setting is
        invalid; of `checkpoint_encrypted` or `checkpoint_plain` if the key is missing, wrong or not
        expected; of `store_unavailable` if the database cannot be reached; of `store_refused` if it
        refuses the login; of `store_read_only` if the tables cannot be created; of `store_corrupt`
        if the schema has other tables; of `store_version` if a later version created them. No error
        contains the password.
        """

@final
class Proposal:
    """
    A call of a tool that a person has to approve of.

    `arguments` are JSON values by name, and `parameters` is their schema.
    """
    def __new__(cls, /, tool: str, arguments: Any, parameters: Any) -> Proposal: ...
    def __repr__(self, /) -> str: ...
    def decide(self, /, answer: Any) -> tuple[bool, Any | None, str | None]:
        """
        What an answer decides: whether the call is made, with which arguments if not its own,
        and why not, if that was said.

        Raises the `antiphon.errors` class of `approval_invalid` if it decides nothing, or its
        arguments do not fit.
        """
    @property
    def question(self, /) -> Any:
        """
        What a person is asked, as a dict.
        """
    def recall(self, /, answer: Any) -> tuple[bool, Any | None, str | None]:
        """
        `decide`, of an answer that a run has taken, which is tied to its call.

        Raises the `antiphon.errors` class of `replay_diverged` if it is about another call.
        """

@final
class PruneReport:
    """
    The result of pruning.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __repr__(self, /) -> str: ...
    @property
    def busy(self, /) -> list[str]:
        """
        Threads that were skipped because a run is writing to them.
        """
    @property
    def damaged(self, /) -> list[str]:
        """
        Damaged threads, which were skipped.
        """
    @property
    def deleted(self, /) -> int:
        """
        The number of deleted threads.
        """
    @property
    def entries(self, /) -> int:
        """
        The number of removed entries, including those of deleted threads.
        """
    @property
    def size(self, /) -> int:
        """
        The size of the removed entries in bytes.
        """
    @property
    def threads(self, /) -> int:
        """
        The number of examined threads.
        """

@final
class RekeyReport:
    """
    The result of a key rotation.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __repr__(self, /) -> str: ...
    @property
    def busy(self, /) -> list[str]:
        """
        Threads that were skipped because a run is writing to them.
        """
    @property
    def damaged(self, /) -> list[str]:
        """
        Threads that no key can read, or that are damaged; they were skipped.
        """
    @property
    def entries(self, /) -> int:
        """
        The number of re-encrypted entries.
        """
    @property
    def threads(self, /) -> int:
        """
        The number of examined threads.
        """

@final
class RetryPolicy:
    """
    How often a failed node is retried, and after which exceptions.

    Intervals are in seconds. `retry_on` is an exception class, a sequence of
    classes, or a predicate of the exception.
    """
    def __new__(cls, /, initial_interval: float = 0.5, backoff_factor: float = 2.0, max_interval: float = 128.0, max_attempts: int = 3, jitter: bool = True, retry_on: Any | None = None, **unknown: Never) -> RetryPolicy: ...
    def __repr__(self, /) -> str: ...
    @property
    def backoff_factor(self, /) -> float: ...
    @property
    def initial_interval(self, /) -> float: ...
    @property
    def jitter(self, /) -> bool: ...
    @property
    def max_attempts(self, /) -> int: ...
    @property
    def max_interval(self, /) -> float: ...
    @property
    def retry_on(self, /) -> Any: ...

@final
class Run:
    """
    One run. It can be waited for, awaited and iterated; the caller that does so
    drives it.
    """
    def __aiter__(self, /) -> Any: ...
    def __await__(self, /) -> Any: ...
    def __iter__(self, /) -> Run: ...
    def __next__(self, /) -> Any: ...
    def __repr__(self, /) -> str: ...
    def abandon(self, /) -> None:
        """
        Stops what runs for it, from any thread: nobody will drive it any more.
        """
    def answer(self, /, id: str, value: Any) -> None:
        """
        Answers an open question; then wait for the run again. A run that is kept has let its
        thread go: start another one there with the answer.
        """
    @property
    def started(self, /) -> bool:
        """
        Whether it has begun: a run that is kept may find its thread taken, or unfit.
        """
    @property
    def caller(self, /) -> Context | None:
        """
        The context of the node that has started it; none if none has, or the node has ended.
        """
    def cancel(self, /, reason: str = "cancelled") -> None:
        """
        Stops the run, from any thread; its driver sees it end.
        """
    def check_answer(self, /, id: str, value: Any) -> None:
        """
        Whether `answer` would take this answer to a question; raises what it would.
        """
    @property
    def checkpoint(self, /) -> int | None:
        """
        The checkpoint that it has written or found last, once it has let its thread go.
        """
    def drain(self, /) -> str:
        """
        Waits for the end or a pause, and returns the outcome, as an await does.

        Raises what a node raised, or the `antiphon.errors` class of the failure.
        """
    @property
    def error(self, /) -> Any | None:
        """
        What the run failed with.
        """
    @property
    def events(self, /) -> list[Event]:
        """
        The recorded events, at most 10,000.
        """
    @property
    def events_dropped(self, /) -> int:
        """
        How many events were not recorded.
        """
    @property
    def kept_in(self, /) -> str | None:
        """
        The thread that it is kept in, by itself or as a part of the node that has started it.
        """
    @property
    def outcome(self, /) -> str:
        """
        `running`, `completed`, `paused`, `breakpoint`, `budget`, `cancelled` or `failed`.
        """
    def preview(self, /) -> dict | None:
        """
        At a pause: the state with what the finished tasks of its superstep have
        written; none if they have written nothing.
        """
    @property
    def questions(self, /) -> list[tuple]:
        """
        The open questions: id, path, value.
        """
    @property
    def reason(self, /) -> str:
        """
        The spent dimension, or the reason of the cancellation.
        """
    def replace_context(self, /, context: Any) -> None:
        """
        Replaces what nodes reach as `Context.context`, before the run resumes.
        """
    @property
    def run_id(self, /) -> str:
        """
        The run's id.
        """
    @property
    def spent(self, /) -> dict:
        """
        What has been spent so far, by the names of `antiphon.Usage`.
        """
    @property
    def steps(self, /) -> int:
        """
        Supersteps so far.
        """
    @property
    def thread(self, /) -> str | None:
        """
        The thread that it is kept in; none if it is not kept.
        """
    @property
    def upcoming(self, /) -> list[str]:
        """
        The nodes that would run next, after the last superstep.
        """
    @property
    def values(self, /) -> dict:
        """
        A copy of the present state, as a dict.
        """

@final
class RunSummary:
    """
    A run within its thread.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __repr__(self, /) -> str: ...
    @property
    def at(self, /) -> datetime:
        """
        When it was last written to, in UTC.
        """
    @property
    def began(self, /) -> datetime:
        """
        When it started, in UTC, if that is still stored.
        """
    @property
    def checkpoints(self, /) -> int:
        """
        The number of stored checkpoints.
        """
    @property
    def graph(self, /) -> str:
        """
        The name of its graph.
        """
    @property
    def outcome(self, /) -> str | None:
        """
        How it ended, as in `ThreadSummary.outcome`.
        """
    @property
    def reason(self, /) -> str:
        """
        The reason, as in `ThreadSummary.reason`.
        """
    @property
    def run_id(self, /) -> str:
        """
        The run's id.
        """
    @property
    def size(self, /) -> int:
        """
        The size of its stored entries in bytes.
        """
    @property
    def status(self, /) -> str:
        """
        The status, as in `ThreadSummary.status`.
        """

@final
class SandboxZygote:
    """
    A zygote of the sandbox. Its steps are called in the order in which they
    stand here, by a process that has one thread.
    """
    def __new__(cls, /, control: int) -> SandboxZygote:
        """
        Takes the descriptor of the socket that leads to the host.
        """
    def fail(self, /, why: str) -> None:
        """
        Tells the host why it will not be.
        """
    def forked(self, /, pid: int) -> None:
        """
        After a fork, in the parent.
        """
    def furnish(self, /, library: Sequence[str | PathLike[str]]) -> None:
        """
        Changes to the private root. `library` are the interpreter's own paths.
        """
    def guard(self, /, first: int) -> None:
        """
        Waits for the fork, and ends like it.
        """
    def guest(self, /) -> str:
        """
        The folder of the guest's code.
        """
    def leave(self, /) -> bool:
        """
        Leaves the host's namespaces; true if the caller has to fork now, and
        to call `guard` in the parent.
        """
    def lock(self, /) -> None:
        """
        The rest of that, once libraries have started what they need.
        """
    def next(self, /) -> bool:
        """
        Waits until a worker is wanted; false if none ever will be.
        """
    def packages(self, /) -> list[str]:
        """
        Names to import.
        """
    def path(self, /) -> list[str]:
        """
        Folders to look for modules in.
        """
    def ready(self, /, version: str) -> None:
        """
        Tells the host that everything is imported.
        """
    def seal(self, /) -> tuple[int, str | None, bool]:
        """
        After a fork, in the child: the descriptor of its channel, its folder,
        and whether its job is still to come.
        """

@disjoint_base
class Saver:
    """
    A store of threads, for `checkpointer=`. It serves any number of sync and async runs, in the
    process that opened it; in a forked child it raises an `InternalError` with the code
    `process_forked`.

    It is a sync and async context manager that closes it at the end.
    """
    def __aenter__(self, /) -> Any: ...
    def __aexit__(self, /, *_error) -> Any: ...
    def __enter__(self, /) -> Saver: ...
    def __exit__(self, /, *_error) -> None: ...
    def __repr__(self, /) -> str: ...
    def acompact(self, /) -> Any:
        """
        `compact` on the caller's event loop.
        """
    def acopy_thread(self, /, thread_id: "str", to: "str", *, checkpoint: "int | None" = None) -> Any:
        """
        `copy_thread` on the caller's event loop.
        """
    def adelete_thread(self, /, thread_id: "str") -> Any:
        """
        `delete_thread` on the caller's event loop.
        """
    def aprune(self, /, thread_id: "str | None" = None, *, keep_last: "int | None" = None, keep_for: Any | None = None, keep_bytes: "int | None" = None, delete_after: Any | None = None, dry_run: bool = False) -> Any:
        """
        `prune` on the caller's event loop.
        """
    def arekey(self, /) -> Any:
        """
        `rekey` on the caller's event loop.
        """
    def athread(self, /, thread_id: "str", *, limit: "int" = ...) -> Any:
        """
        `thread` on the caller's event loop.
        """
    def athreads(self, /, *, status: "str | None" = None, graph: "str | None" = None, after: "str | None" = None, limit: "int" = ...) -> Any:
        """
        `threads` on the caller's event loop.
        """
    def close(self, /) -> None:
        """
        Closes the store. Running runs can still end; new ones are refused.
        """
    def compact(self, /) -> None:
        """
        Returns free space to the disk; otherwise the store reuses it. Others may write meanwhile.
        """
    def copy_thread(self, /, thread_id: "str", to: "str", *, checkpoint: "int | None" = None) -> None:
        """
        Copies a thread, up to a checkpoint or entirely, to the new thread `to`. Checkpoints keep
        their ids, and open questions stay open; a run that is still running in the original has ended
        in the copy. A run that continues in the copy has its own id.

        Raises a `ValidationError` with the code `thread_empty` if the thread is empty, and with
        `thread_taken` if `to` is not; a `StateError` with `checkpoint_unknown` if the checkpoint does
        not exist.
        """
    def delete_thread(self, /, thread_id: "str") -> None:
        """
        Deletes a thread; does nothing if it does not exist.

        Raises a `StateError` with the code `thread_busy` if a run is writing to it.
        """
    @property
    def name(self, /) -> str:
        """
        The location of the store without secrets, for example `sqlite:runs.db`.
        """
    def prune(self, /, thread_id: "str | None" = None, *, keep_last: "int | None" = None, keep_for: Any | None = None, keep_bytes: "int | None" = None, delete_after: Any | None = None, dry_run: bool = False) -> PruneReport:
        """
        Removes old checkpoints of all threads, or of `thread_id`.

        Of each thread it keeps the last `keep_last` checkpoints, those not older than `keep_for` (a
        `timedelta`, or seconds), and as many as fit into `keep_bytes`; a checkpoint beyond any of
        these limits is removed. Without limits, those of the saver apply. The last checkpoint is
        always kept, and so are the entries from which a kept checkpoint is read: up to 64 KiB, or
        four times the size of the state. `delete_after` removes whole threads that were not written
        to for longer, regardless of their status. With `dry_run`, nothing is removed.

        Threads that a run is writing to are skipped. `compact` returns the free space to the disk.

        Raises a `ValidationError` with the code `call_invalid` if there is no limit or an invalid
        one, and with `thread_empty` if `thread_id` is empty.
        """
    def rekey(self, /) -> RekeyReport:
        """
        Encrypts with the first of the saver's keys everything that was encrypted with another one.
        The call can be interrupted and repeated. Others may read meanwhile; threads that a run is
        writing to are skipped and listed in `busy`.

        When `busy` is empty, the other keys are not needed any more.
        """
    def thread(self, /, thread_id: "str", *, limit: "int" = ...) -> ThreadDetail:
        """
        Returns a thread in detail: at most `limit` (default: 20) of its runs and checkpoints, newest
        first, its open questions, and the last value written to each key. Its graph is not needed,
        and only Python's own types are constructed from stored values.

        Raises a `ValidationError` with the code `thread_empty` if the thread is empty.
        """
    def threads(self, /, *, status: "str | None" = None, graph: "str | None" = None, after: "str | None" = None, limit: "int" = ...) -> list[ThreadSummary]:
        """
        Lists the threads with the status of their last run, in the order of their names. Their graphs
        are not needed.

        `status` and `graph` select threads by the status, or by the graph, of their last run. A list
        has at most `limit` threads (default: 100) and starts after the name `after`: pass the last
        name of a list to get the next one.

        Raises a `ValidationError` with the code `call_invalid` if the status or the limit is invalid,
        and with `thread_invalid` if a name is.
        """

@final
class Send:
    """
    An input on its way to a node: the node runs in the next superstep with
    `arg` instead of the state, once per `Send`.

    Args:
        node: the node's name.
        arg: what it gets, unchanged.
        timeout: seconds, a timedelta, or a `TimeoutPolicy` with a `run_timeout`; overrides the
            node's own.
    """
    def __eq__(self, other: object, /) -> Any: ...
    def __ge__(self, other: object, /) -> Any: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple, dict]: ...
    def __gt__(self, other: object, /) -> Any: ...
    def __hash__(self, /) -> int: ...
    def __le__(self, other: object, /) -> Any: ...
    def __lt__(self, other: object, /) -> Any: ...
    def __ne__(self, other: object, /) -> Any: ...
    def __new__(cls, /, node: str, arg: Any, *, timeout: Any | None = None) -> Send: ...
    def __repr__(self, /) -> str: ...
    @property
    def arg(self, /) -> Any: ...
    @property
    def node(self, /) -> str: ...
    @property
    def timeout(self, /) -> float | None: ...

@final
class SqliteSaver(Saver):
    """
    Threads in one SQLite file, which several processes may share.
    """
    def __new__(cls, /, *_given: "Any", **_options: "Any") -> SqliteSaver:
        """
        Only tells how one is opened.
        """
    @staticmethod
    def from_conn_string(conn_string: str | PathLike[str]) -> SqliteSaver:
        """
        `open`, under LangGraph's name.
        """
    @staticmethod
    def open(path: str | PathLike[str], *, key: "bytes | Sequence[bytes] | None" = None, sync: str = "process", max_bytes: "int | None" = None, pickle: bool = False, keep_last: "int | None" = None, keep_for: Any | None = None, keep_bytes: "int | None" = None) -> SqliteSaver:
        """
        Opens a file, and creates it if it does not exist.

        `path` is the file, or `sqlite:` and the file (`sqlite:///` is refused: it is read as a relative
        or as an absolute path, depending on the program). With a `key` of 32 bytes, entries are encrypted
        and authenticated (XChaCha20-Poly1305), and no others are read; of a list of keys, the first
        one writes and all of them read, until `rekey` has run. Encryption must be chosen when the
        file is created; a new file is readable by its owner only. With `sync="process"`, commits
        survive the death of the process; with `sync="power"` also a loss of power, at the cost of a
        disk flush per commit. `max_bytes` limits the size of the file; default: no limit. With
        `pickle` and a key, objects of unknown types are pickled; everyone who has the key can then
        run code here.

        Of each thread, the last `keep_last` checkpoints are kept, those not older than `keep_for` (a
        `timedelta`, or seconds), and as many as fit into `keep_bytes`; default: all. Threads are
        pruned while they are written, whenever a snapshot allows it; `prune` is for the others.

        Raises the `antiphon.errors` class of `store_setting_invalid` if the path is not that of a
        file, or is unclear; of `checkpoint_encrypted` or `checkpoint_plain` if the key is missing, wrong or not
        expected; of `store_unavailable` if the file cannot be opened; of `store_corrupt` if it is not
        a store; of `store_version` if a later version wrote it; of `process_forked` in a forked child
        of a process that had such files open.
        """

@final
class StreamOptions:
    """
    What a caller wants to see of a run, and what the chunks look like.

    Args:
        modes: of `values`, `updates`, `custom` and `events`.
        tagged: whether each chunk says its mode.
        subgraphs: whether nested graphs show too; each chunk then says its
            namespace, a tuple that is empty for the run's own graph.
        keys: the keys to show of states and updates; a text shows the bare
            value of that key, `None` shows all.
        `make_chunk`: makes a chunk of mode, namespace and payload.
        `task_chunks`: called when a task begins and when it ends, with its namespace
            and (superstep, number among the sends, dict); gives the chunks, as
            pairs of a mode and a payload.
        tokens: what `Context.token` names this stream by.

    Without `make_chunk` a chunk is the payload, (mode, payload), (namespace, payload) or
    (namespace, mode, payload).
    """
    def __new__(cls, /, modes: Sequence[str], *, tagged: bool = False, subgraphs: bool = False, keys: Incomplete = ..., make_chunk: Any | None = None, task_chunks: Any | None = None, tokens: Any | None = None) -> StreamOptions: ...
    def has(self, /, mode: str) -> bool:
        """
        Whether items of that mode are shown.
        """
    @property
    def tokens(self, /) -> Any | None:
        """
        Names this stream in `Context.token`.
        """
    def wrap(self, /, mode: str, payload: Any) -> Any:
        """
        A chunk of the run's own graph that carries the payload as it is.
        """

@final
class ThreadDetail:
    """
    A thread in detail, as far as it can be read without its graph.
    """
    def __repr__(self, /) -> str: ...
    @property
    def checkpoints(self, /) -> list[CheckpointSummary]:
        """
        Its checkpoints, newest first.
        """
    @property
    def questions(self, /) -> list[tuple[str, list[str], Any]]:
        """
        The open questions: id, path of the node that asks, and the question.
        """
    @property
    def runs(self, /) -> list[RunSummary]:
        """
        Its runs, newest first.
        """
    @property
    def summary(self, /) -> ThreadSummary:
        """
        The thread as in lists.
        """
    @property
    def written(self, /) -> dict:
        """
        The last value written to each key of the state; for a key with a reducer, only a part of its
        value.
        """

@final
class ThreadRef:
    """
    A thread of a store, and how a run is kept there.

    Args:
        saver: the store.
        thread: the thread's name.
        registry: the types of stored values; by default those registered for all.
        checkpoint: where to begin in the thread; at its end by default.
        durability: `sync`, `async` or `exit`; `async` by default.
        `as_node`: the node in whose name the input is written; nothing runs then.
    """
    def __new__(cls, /, saver: Saver, thread: str, *, registry: Any | None = None, checkpoint: int | None = None, durability: str | None = None, as_node: str | None = None) -> ThreadRef: ...
    def __repr__(self, /) -> str: ...
    def acheck_idle(self, /) -> Any:
        """
        `check_idle` on the caller's event loop.
        """
    def afork(self, /, to: "str", run_id: "str") -> Any:
        """
        `fork` on the caller's event loop.
        """
    def check_idle(self, /) -> None:
        """
        Fails with `thread_busy` while a run writes to the thread.
        """
    def fork(self, /, to: "str", run_id: "str") -> None:
        """
        Makes the thread `to` out of the way to the checkpoint, or out of all that the thread
        holds. A run that continues there is called `run_id`.
        """
    @property
    def thread(self, /) -> str: ...

@final
class ThreadSummary:
    """
    A thread, with the status of its last run.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __repr__(self, /) -> str: ...
    @property
    def at(self, /) -> datetime:
        """
        When the thread was last written to, in UTC.
        """
    @property
    def began(self, /) -> datetime:
        """
        When the first stored run started, in UTC.
        """
    @property
    def graph(self, /) -> str:
        """
        The name of its graph.
        """
    @property
    def outcome(self, /) -> str | None:
        """
        How the run ended: `completed`, `budget`, `cancelled` or `failed`; `None` if it has not.
        """
    @property
    def questions(self, /) -> int:
        """
        The number of open questions.
        """
    @property
    def reason(self, /) -> str:
        """
        The reason of a cancellation or failure, why it cannot be read, or the spent budget.
        """
    @property
    def run_id(self, /) -> str:
        """
        The run's id.
        """
    @property
    def size(self, /) -> int:
        """
        The size of the thread in bytes.
        """
    @property
    def status(self, /) -> str:
        """
        `running`: a run is writing to it. `paused`: it waits for answers, or was edited and not yet
        resumed. `ended`, `failed`: its last run is over. `orphaned`: the process of its last run is
        gone. `empty`: nothing was written yet. `unreadable`, at least with this key. `foreign`:
        written by LangGraph through `AntiphonSaver`.
        """
    @property
    def steps(self, /) -> int:
        """
        Supersteps of the thread so far.
        """
    @property
    def thread(self, /) -> str:
        """
        The thread's name.
        """

@final
class ToolGate:
    """
    What all calls of one tool share: how many may be under way at once, and a circuit breaker.
    """
    def __new__(cls, /, name: str, *, timeout: float | None = None, breaker: tuple[int, float] | None = None, max_concurrency: int | None = None) -> ToolGate:
        """
        A gate for the tool of that name. `timeout` is that of a call, in seconds; `breaker` is the
        number of failures in a row that open the circuit, and the seconds for which it stays open.
        """
    def aenter(self, /, note: Any) -> Any:
        """
        `enter` on the caller's event loop.
        """
    def enter(self, /, note: Any) -> GatedCall:
        """
        Waits until a call may be made. `note` is called with a name and a dict for each new phase
        of the circuit that this call learns of. Raises `tool_circuit_open`.
        """
    def status(self, /) -> dict:
        """
        The calls under way (`running`), those of them that have exceeded their time-out
        (`overdue`), and the `phase` and `failures` of the breaker.
        """

@final
class TurnInput:
    """
    The input of a run on a thread that may be new.

    Args:
        first: the writes if the thread is new; or an exception to be raised then.
        further: the writes if it holds something already; or an exception to be raised then.
        `reset_keys`: keys that begin at their defaults again before `further`.
    """
    def __new__(cls, /, first: Any, further: Any, *, reset_keys: Sequence[str] = ...) -> TurnInput: ...

@final
class TypeCodec:
    """
    Converts the objects of a type to plain values for storage, and back.

    Args:
        kind: the number of the codec, 16 to 127; 7 for all types that have names.
        pack: a function from an object of the type to plain values, which may
            hold objects of other types that have codecs.
        unpack: the way back.
        name: the type's name, if its number is 7.
        fields: whether `pack` returns a dict of fields, for messages about what
            is inside.
        columns: for a table, a function from it to the names of its columns, for the same; `pack`
            then returns a list that begins with a list of columns, each a kind and its parts.
    """
    def __new__(cls, /, kind: int, pack: Any, unpack: Any, *, name: str | None = None, fields: bool = False, columns: Any | None = None) -> TypeCodec: ...
    def __repr__(self, /) -> str: ...
    @property
    def kind(self, /) -> int: ...
    @property
    def name(self, /) -> str | None: ...

@final
class Values:
    """
    Turns values into bytes and back, by their exact types. Bytes are data:
    they never cause an import or a call.

    Args:
        registry: the types beyond Python's own plain ones.
    """
    def __new__(cls, /, registry: Any) -> Values: ...
    def pack(self, /, value: Any) -> bytes:
        """
        A value as bytes.

        Raises:
            `StateError`: `value_unstorable`; the message names the type, and the
                place inside the value.
        """
    def unpack(self, /, data: bytes) -> Any:
        """
        The value that was packed: an equal object of the same type.

        Raises:
            `StateError`: `checkpoint_corrupt`, if the bytes are none;
                `checkpoint_misfit`, if a type is unknown or has changed.
        """

def check_enclosing_node() -> None:
    """
    Raises if the caller runs for a node that has ended: nobody would see its question.
    """

def current_context() -> Context:
    """
    The context of the node that the caller runs for.
    """

def enclosing_context() -> Context | None:
    """
    The context of the node that the caller runs for, if there is one. A node that
    has ended is none: what its tasks start after that is nobody's.
    """

def error_in_result(result: dict) -> str | None:
    """
    The message of a tool's result that says that the call has failed, such as `{"error": "..."}`;
    none if it is a result.
    """

def has_changed(before: Any, copy: Any, /) -> bool:
    """Whether a copy that `isolated` made of `before` has been changed, at any depth."""

def isolated(value: Any, /) -> Any:
    """
    A copy of the lists, dicts, sets and tuples of a value, at any depth. Everything else in it,
    subclasses of these included, is shared.
    """

def markdown_html(text: str, places: dict[str, str] | None = None, /) -> str:
    """
    Renders Markdown that is not trusted as HTML: HTML in the text is shown as text, nothing is
    loaded from a network, and links lead to web and mail addresses only.

    `places` has the id of a place of the page for each label of a reference, such as `[tea]`, that
    the text does not define.
    """

def open_tools(family: str, settings: dict) -> list[NativeTool]:
    """
    Opens the tools of a family by its name in the registry. Connects to nothing.

    Raises `tool_family_unknown`, or `tool_setting_invalid` with the setting.
    """

def remote_sql_tools(schema: NativeTool, query: NativeTool, settings: dict) -> list[NativeTool]:
    """
    The tools `sql` over two tools that describe tables and run queries, such as those of an MCP
    server. Connects to nothing.

    Raises `tool_setting_invalid` with the setting.
    """

def sandbox_budget(limits: dict) -> Any:
    """
    The budgets of a job's outcome and calls under these limits, as the guest's encoder and the
    host take them.
    """

def sandbox_figure(image: bytes, pixels: int) -> tuple[int, int]:
    """
    Checks that bytes are one PNG image, so that a library may show it.

    Args:
        image: what a worker sent.
        pixels: how many it may have.

    Returns:
        Its width and height in pixels.

    Raises:
        `ValueError`: no honest worker sends this.
    """

def sandbox_json(text: bytes, depth: int, nodes: int) -> None:
    """
    Checks that JSON text does not take a reader more memory than it may.

    Args:
        text: what a worker sent.
        depth: containers inside containers that it may have.
        nodes: items that it may have, each dict counted as four.

    Raises:
        `ValueError`: it has more.
    """

def sandbox_limits(given: dict, data: bool = False) -> Any:
    """
    The complete table of a sandbox's limits.

    `given` has limits by name: `None` is the ceiling, what is missing has its
    default. `data` says that packages for data take part, which need more
    memory by default. A limit that is wrong is a `ValidationError`
    (`sandbox_limit_invalid`).
    """

def sandbox_outcome(body: bytes, limits: dict, want: Any) -> tuple[dict, list[str], int]:
    """
    Checks the outcome of a job as its worker reports it.

    Args:
        body: what the worker sent.
        limits: all limits of the job.
        want: the parts of the result that the job wants.

    Returns:
        The outcome without tables and figures, the names of the tables that follow, and the
        number of figures.

    Raises:
        `ValueError`: no honest worker sends this.
    """

def sandbox_probe(settings: dict) -> dict:
    """
    What an engine promises on this machine, as a dict; seen once per process.
    """

def sandbox_table(stream: bytes) -> tuple[int, int]:
    """
    Checks that bytes are a plain table as an Arrow IPC stream, so that a library may read it.

    Args:
        stream: what a worker sent.

    Returns:
        How many rows and columns it has.

    Raises:
        `ValueError`: no honest worker sends this.
    """

def select(state: dict, keys: Incomplete) -> Any:
    """
    What is to be seen of a state: all of it, one key's bare value, or some keys.
    """

def serve_mcp_stdio(tools: Sequence[tuple[dict, Any]], settings: dict) -> None:
    """
    Serves over standard input and output until the input ends. Raises as `NativeMcpServer.start`.
    """

def set_thread_limit(limit: int) -> None:
    """
    Sets how many threads may run blocking functions at once; 64 by default.
    """

def systems() -> list:
    """
    All ready systems, each as a dict with its name, description, roles and prompts, and the JSON
    Schemas of its settings, input and output.
    """

def tool_families() -> list[dict]:
    """
    All families of built-in tools, each as a dict with its name, its description, and the JSON
    Schema of its settings.
    """

