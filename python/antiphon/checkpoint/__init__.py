"""Durable threads: what a state may hold."""

from __future__ import annotations

from antiphon.checkpoint._forms.failures import StoredException
from antiphon.checkpoint._registry import register

__all__ = ["StoredException", "register"]
