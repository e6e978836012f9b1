"""The native system of a ready system, with the model of the roles that have none."""

from __future__ import annotations

import asyncio
from threading import Lock
from typing import TYPE_CHECKING, Any

from antiphon._model.default_model import check_choice, choose_here, open_choice
from antiphon.models import Model
from antiphon.systems._roles import model_of_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon._antiphon import NativeSystem

__all__ = ["UNUSED", "LazyNativeSystem"]

UNUSED = "antiphon:unused"
"""The name of the model of roles that have no work, which is never asked."""


class LazyNativeSystem:
    """Makes the native system: at once, or for the first question if a model has to be started.

    A model on this machine takes seconds and a gigabyte, or a download. What is wrong with
    settings, parts and the name of the model is raised here in any case.

    Args:
        build: makes the system with the implementation of the roles that have none.
        model: what the user has given as the model of all roles.
        is_needed: whether there are such roles.

    Raises:
        ValidationError: as `build`, `antiphon.models.get` and `antiphon.local.check`.
        AuthError: as `antiphon.models.get`.
    """

    def __init__(
        self, build: Callable[[dict[str, Any]], NativeSystem], model: Any, *, is_needed: bool
    ) -> None:
        self._lock = Lock()
        self._open: Callable[[], NativeSystem] | None = None
        # Errors in settings and parts are raised before a model is downloaded or paid for.
        self.native = build({"model": Model.scripted([], name=UNUSED)})
        """The native system. Until its model is started, one without replies stands in for it."""
        if not is_needed:
            return
        if not (model is None or isinstance(model, str)):
            self.native = build(model_of_all(model))
            return
        choice = choose_here(model)
        check_choice(choice)

        def opened() -> NativeSystem:
            return build(model_of_all(open_choice(choice)))

        if choice.weights is None:
            self.native = opened()
        else:
            self._open = opened

    def ready(self) -> NativeSystem:
        """The system with its model, which is started if it is not yet.

        Raises:
            ValidationError: as `antiphon.models.get`.
            ModelTransportError: the model cannot be downloaded or started.
        """
        with self._lock:
            if self._open is not None:
                self.native = self._open()
                self._open = None
        return self.native

    async def aready(self) -> NativeSystem:
        """`ready` beside the event loop."""
        return self.native if self._open is None else await asyncio.to_thread(self.ready)
