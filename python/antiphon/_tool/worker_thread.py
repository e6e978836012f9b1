"""Threads for calls that may never return."""

from __future__ import annotations

from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def call_on_thread(call: Callable[..., Any], *args: Any) -> Future[Any]:
    """Calls a function on a thread of its own, with the caller's context variables.

    The end of the process does not wait for the thread, as it does for those of an executor.
    """
    future: Future[Any] = Future()
    with_variables = copy_context().run

    def work() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = with_variables(call, *args)
        except BaseException as error:  # noqa: BLE001 - the caller raises it
            future.set_exception(error)
        else:
            future.set_result(result)

    Thread(target=work, name="antiphon-tool", daemon=True).start()
    return future
