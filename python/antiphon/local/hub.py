"""The last resort: the model file from its hub, over plain HTTPS.

Many networks that reach a package index do not reach a hub, so connecting gets
three seconds and reading gets longer.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

from antiphon.errors import ModelTransportError
from antiphon.local.assembly import CHUNK, DISK_FULL, Assembly

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from antiphon.local.catalog import CatalogModel

__all__ = ["fetch_hub"]

_CONNECT_SECONDS = 3.0
_READ_SECONDS = 30.0


def fetch_hub(model: CatalogModel, target: Path, tick: Callable[[int], None]) -> None:
    """Continues the unfinished file ``target`` with bytes from the model's hub.

    Args:
        model: the model to fetch.
        target: the unfinished file; whole and verified on return.
        tick: called often with the bytes fetched so far.

    Raises:
        ModelTransportError: ``local_source_failed`` or ``local_model_mismatch``.
    """
    if model.hub is None:
        raise _failed(f"the model is on no hub: {model.name}")
    with Assembly(target, model, unit=1, tick=tick) as assembly:
        if assembly.missing:
            try:
                _receive(model.hub, assembly, tick)
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, OSError) and error.errno in DISK_FULL:
                    raise
                raise _failed(f"{model.hub} cannot be read: {_reason(error)}") from error
        assembly.seal()


def _receive(address: str, assembly: Assembly, tick: Callable[[int], None]) -> None:
    # The address is the catalogue's own, and the hash decides about what comes.
    request = urllib.request.Request(  # noqa: S310
        address, headers={"User-Agent": "antiphon"}
    )
    if assembly.written:
        request.add_header("Range", f"bytes={assembly.written}-")
    opener = urllib.request.build_opener(_PlainHandler, _SecureHandler)
    with opener.open(request, timeout=_CONNECT_SECONDS) as response:
        if response.status != http.HTTPStatus.PARTIAL_CONTENT:
            assembly.restart()
        while chunk := response.read(CHUNK):
            assembly.write(chunk)
            tick(assembly.written)


class _Plain(http.client.HTTPConnection):
    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(_READ_SECONDS)


class _Secure(http.client.HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(_READ_SECONDS)


class _PlainHandler(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> Any:
        return self.do_open(_Plain, request)


class _SecureHandler(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> Any:
        return self.do_open(_Secure, request)


def _reason(error: Exception) -> str:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(cause) or type(cause).__name__


def _failed(reason: str) -> ModelTransportError:
    return ModelTransportError(reason, code="local_source_failed")
