"""Exact numbers, and ids."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any
from uuid import UUID

from antiphon._antiphon import Form
from antiphon.checkpoint._forms.shape import exactly, items


@cache
def forms() -> dict[type, Form]:
    """The forms by type."""
    return {
        Decimal: Form(40, str, lambda value: Decimal(exactly(str, value))),
        Fraction: Form(41, lambda value: [value.numerator, value.denominator], _fraction),
        UUID: Form(42, lambda value: value.bytes, lambda value: UUID(bytes=exactly(bytes, value))),
    }


def _fraction(value: Any) -> Fraction:
    numerator, denominator = items(2, value)
    return Fraction(exactly(int, numerator), exactly(int, denominator))
