"""Objects of types that nothing else is known of, where the caller has asked for it."""

from __future__ import annotations

import pickle
from typing import Any

from antiphon._antiphon import Form
from antiphon.checkpoint._forms.shape import exactly

__all__ = ["PICKLED"]


def _pack(value: Any) -> bytes:
    return pickle.dumps(value, protocol=5)


def _unpack(data: Any) -> Any:
    return pickle.loads(exactly(bytes, data))  # noqa: S301 - sealed with the caller's own key


PICKLED = Form(8, _pack, _unpack)
