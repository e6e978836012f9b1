"""The computation: a model writes code, a sandbox runs it, and the result is put into words."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from antiphon._antiphon import Computation as Native
from antiphon._model.default_model import default_model
from antiphon._role.played import played_by
from antiphon.errors import ValidationError
from antiphon.models import Model, scripted
from antiphon.sandbox import Sandbox
from antiphon.sandbox._sandbox import runner_of
from antiphon.systems._awaiting import awaited
from antiphon.systems.computation_result import ComputationResult
from antiphon.tools import encode_result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from antiphon.event import Event


__all__ = ["Computation"]


class Computation:
    """Answers questions about data by computing: the specialist for numbers of a team.

    The model sees the question and a description of the inputs: of a table its columns, types
    and first rows. It writes Python, which runs in the sandbox and nowhere else; what goes wrong
    goes back to the model, until code comes to a result or the attempts are spent. Then the
    model puts the result into words. One object serves any number of questions, also at once
    from several threads or tasks.

    Args:
        model: who writes the code and the words: a name such as ``openai:gpt-5-mini`` or
            ``local:1.5b``, a list of names, a `antiphon.models.Model`, or a LangChain chat
            model. Default: as for `ReviewLoop`.
        sandbox: where the code runs; its limits, tools, files and packages hold. Default: a
            `Sandbox` of its own, with pandas and numpy if they are installed.
        **settings: ``max_attempts`` (2) pieces of code, ``max_highlights`` (5), ``max_shown``
            (4,000) characters of a result that the model reads, ``guidance`` (what to heed in
            words), ``summarise`` (``True``), ``reasoning`` (``True``: before it writes code, the
            model says how; the smallest do better without), ``temperature`` (the model's own),
            ``max_reasks`` (1), ``question_timeout_s`` (120), ``packages`` (those that the model
            is told of; default: the sandbox's).

    Raises:
        ValidationError: a setting cannot be used (``system_setting_invalid``), or there is no
            model (``model_unavailable``).
        SandboxUnavailable: no engine can be used here.
        AuthError: the model wants a key, and there is none (``model_key_missing``).

    Example:
        >>> from antiphon.models import scripted
        >>> model = scripted(
        ...     [
        ...         {"json": {"reasoning": "", "python": "result = sum(sales)", "explain": ""}},
        ...         {"json": {"answer": "Sales came to 60.", "highlights": []}},
        ...     ]
        ... )
        >>> computed = Computation(model).run("What do sales come to?", {"sales": [10, 20, 30]})
        >>> computed.answer, computed.value
        ('Sales came to 60.', 60)
    """

    def __init__(
        self,
        model: str | Sequence[str | Model] | Model | None = None,
        *,
        sandbox: Sandbox | None = None,
        **settings: Any,
    ) -> None:
        self._sandbox = _own_sandbox() if sandbox is None else sandbox
        settings.setdefault("packages", list(self._sandbox.packages))
        self._runner = runner = runner_of(self._sandbox)

        def build(player: Any) -> Native:
            return Native(settings, played_by(player, "the model"), runner.engine, runner.stopper)

        build(scripted([]))  # what is wrong is said before it costs
        opened = default_model(model) if model is None or isinstance(model, str) else model
        self._native = build(opened)

    def run(
        self,
        question: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        watch: Callable[[Event], None] | None = None,
    ) -> ComputationResult:
        """Answers a question and waits for it. Ctrl-C stops it, and the code that runs for it.

        Args:
            question: what is asked.
            inputs: what it is asked of, by the names that the code has for it: tables, lists,
                numbers, as `Sandbox.run` takes them.
            context: what the model should know besides, such as the date: JSON. It becomes part
                of the prompt, so no secrets.
            watch: called on this thread with each event, pieces of replies included.

        Raises:
            ValidationError: the question is blank (``question_blank``), or an input cannot go
                in (``sandbox_input_invalid``). Whatever happens later is an outcome of the
                result.
        """
        task, calls = self._task(question, inputs, context), self._runner.calls(None)
        return self._result(self._native.ask(task, call=calls, watch=watch))

    async def arun(
        self,
        question: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        context: Mapping[str, Any] | None = None,
    ) -> ComputationResult:
        """`run`, awaited. Cancelling the awaiting task stops it, and kills the code.

        Args:
            question: as in `run`.
            inputs: as in `run`.
            context: as in `run`.

        Raises:
            ValidationError: as in `run`.
        """
        task = self._task(question, inputs, context)
        calls = self._runner.calls(asyncio.get_running_loop())
        ask = self._native.aask
        return self._result(await awaited(lambda stop: ask(task, call=calls, stop=stop)))

    def _task(
        self, question: Any, inputs: Mapping[str, Any] | None, context: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        if not isinstance(question, str):
            raise ValidationError(
                f"the question has to be a text: {type(question).__name__}",
                code="question_malformed",
            )
        job = self._runner.job("", inputs, ())
        given = {name: job[name] for name in ("inputs", "tables", "functions")}
        return {"question": question, "context": encode_result(dict(context or {})), **given}

    def _result(self, native: dict[str, Any]) -> ComputationResult:
        return ComputationResult.of(native, self._sandbox.engine, self._sandbox.isolation)

    def __repr__(self) -> str:
        return f"Computation(sandbox={self._sandbox!r})"


def _own_sandbox() -> Sandbox:
    from importlib.util import find_spec

    packages = [name for name in ("numpy", "pandas", "pyarrow") if find_spec(name)]
    return Sandbox(packages=packages)
