"""Models and tools of roles, as the engine calls them from threads of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._model.adapters import as_model
from antiphon._node.tool_calls import use
from antiphon._role.question import waited
from antiphon._tool.approval import ToolCall, approver, decide_call
from antiphon.models import Model
from antiphon.tools import Tool, ToolContext, encode_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from antiphon._antiphon import ModelCall

__all__ = ["as_tools", "played_by"]


def played_by(given: Any, where: str) -> Model | tuple[Callable[..., Any], str]:
    """Whatever stands for a model: one, or a callable with the name it goes by.

    Raises:
        ValidationError: it stands for none (``model_invalid``), or as `antiphon.models.get`.
        AuthError: as `antiphon.models.get`.
    """
    found = as_model(given, where)
    if isinstance(found, Model):
        return found
    ask, _ = found

    def reply(request: dict[str, Any], call: ModelCall) -> Any:
        return waited(ask(request, call), call)

    return reply, ask.name


def as_tools(
    given: Iterable[Any],
) -> list[tuple[Any, Callable[..., Any], Callable[..., Any] | None]]:
    """Tools with what calls them and what approves of it: callables of arguments and call."""
    return [(tool.spec, _using(tool), _approving(tool)) for tool in Tool.collect(given)]


def _approving(tool: Tool) -> Callable[..., Any] | None:
    approve = approver(tool)
    if approve is None:
        return None

    def decide(arguments: dict[str, Any], about: dict[str, Any]) -> bool | str:
        key = about.get("idempotency_key") or ""
        call_id = about.get("call_id") or key
        return decide_call(approve, ToolCall(name=tool.name, arguments=arguments, call_id=call_id))

    return decide


def _using(tool: Tool) -> Callable[..., Any]:
    def call(arguments: dict[str, Any], about: dict[str, Any]) -> Any:
        key = about.get("idempotency_key") or ""
        context = ToolContext(
            name=tool.name, call_id=about.get("call_id") or key, idempotency_key=key
        )
        return encode_result(use(tool, arguments, context))

    return call
