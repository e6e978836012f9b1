"""Which calculator `antiphon ask` gives to an expert."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, NoReturn

from antiphon._cli.calculator import calculator
from antiphon.errors import SandboxUnavailable
from antiphon.systems import ReviewLoop

if TYPE_CHECKING:
    import pytest


def test_the_builtin_calculator_stands_in_where_there_is_no_sandbox(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unavailable() -> NoReturn:
        raise SandboxUnavailable("no sandbox here", code="sandbox_unavailable")

    monkeypatch.setattr("antiphon.sandbox.compute", unavailable)
    [tool] = calculator(Namespace(no_tools=False), ReviewLoop, None)["expert_tools"]
    assert tool.name == "calculate"


def test_no_tools_means_none() -> None:
    assert calculator(Namespace(no_tools=True), ReviewLoop, None) == {}
