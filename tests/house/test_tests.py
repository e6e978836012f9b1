"""Tests use what users use, and wait for what happens instead of sleeping."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from house.source import ROOT, Finding, files, finding, line_of, report, rust
from house.test_imports import imports

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

INSIDE = frozenset(
    {
        "tests/bench/boxed.py",
        "tests/bench/rows/sandbox.py",
        "tests/bench/rows/tools.py",
        "tests/checkpoint/test_cancelled_calls.py",
        "tests/checkpoint/test_langgraph_writers.py",
        "tests/checkpoint/test_registry.py",
        "tests/checkpoint/test_stored_tables.py",
        "tests/cli/test_calculator.py",
        "tests/cli/test_progress_view.py",
        "tests/cli/test_time_limits.py",
        "tests/conftest.py",
        "tests/graph/test_concurrent_questions.py",
        "tests/graph/test_langchain_imports.py",
        "tests/graph/test_long_node_drivers.py",
        "tests/graph/test_long_nodes.py",
        "tests/local/test_server.py",
        "tests/sandbox/corpus/engines.py",
        "tests/sandbox/guest/test_decode.py",
        "tests/sandbox/guest/test_hostile.py",
        "tests/sandbox/guest/test_polars.py",
        "tests/sandbox/guest/test_sound.py",
        "tests/sandbox/guest/test_values.py",
        "tests/sandbox/native/test_native.py",
        "tests/sandbox/test_approval.py",
        "tests/sandbox/test_cells.py",
        "tests/sandbox/test_hostile_result.py",
        "tests/sandbox/test_monty.py",
        "tests/sandbox/test_pause.py",
        "tests/sandbox/test_result.py",
        "tests/sandbox/test_settings.py",
        "tests/sandbox/test_wasm.py",
        "tests/schema/test_output.py",
        "tests/schema/test_schema.py",
        "tests/support/engines.py",
        "tests/support/stored_values.py",
        "tests/systems/test_local_computation.py",
        "tests/systems/test_local_model.py",
        "tests/test_errors.py",
        "tests/tools/test_approved_arguments.py",
        "tests/tools/test_builtin_signatures.py",
        "tests/tools/test_circuit_breaker.py",
        "tests/tools/test_docstring.py",
        "tests/tools/test_encode.py",
        "tests/tools/test_encode_tables.py",
        "tests/tools/test_native.py",
        "tests/torture/hostile_host.py",
    }
)
"""Tests of a unit that has no public face: parsers, codecs, checks of what a worker sends."""

# Most tests have none, and are not parsed.
_PERHAPS = re.compile(
    r"^\s*(from|import) antiphon\b.*\b_|^from antiphon\S* import \($", re.MULTILINE
)


# What waits for tests; and the bench, whose sleeps are what it measures.
_SLEEPERS = {"bench", "support", "waiting"}
_SLEEPS = re.compile(r"\b(?:thread|time)::sleep\(")


def test_tests_sleep_nowhere_but_in_support() -> None:
    report(sleeps(ROOT))


def test_tests_import_public_names() -> None:
    report(found for found in private_imports(ROOT) if found.path not in INSIDE)


def test_each_test_that_may_look_inside_does() -> None:
    used = {found.path for found in private_imports(ROOT)}
    assert sorted(INSIDE - used) == []


def private_imports(root: Path) -> Iterator[Finding]:
    """Imports of our private names in tests."""
    for path in files(root, "tests", ".py"):
        text = path.read_text(encoding="utf-8")
        if not _PERHAPS.search(text):
            continue
        for line, name in imports(ast.walk(ast.parse(text))):
            first, *rest = name.split(".")
            if first == "antiphon" and any(part[:1] == "_" and part[:2] != "__" for part in rest):
                yield finding(root, path, line, f"test what users see, import public names: {name}")


def sleeps(root: Path) -> Iterator[Finding]:
    """Sleeps in tests: a test waits for something, or simulates work by a named function."""
    rule = "wait for what happens, or call `take_time`: support/waiting.py"
    for path in files(root, "tests", ".py"):
        text = path.read_text(encoding="utf-8")
        if path.relative_to(root).parts[1] in _SLEEPERS or not re.search(r"sleep|Event\(\)", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and _sleeps(node):
                yield finding(root, path, node.lineno, rule)
    for path in rust(root, tests=True):
        _, _, kind, *inside = path.relative_to(root).with_suffix("").parts
        if kind == "tests" and _SLEEPERS.isdisjoint(inside):
            text = path.read_text(encoding="utf-8")
            for found in _SLEEPS.finditer(text):
                yield finding(root, path, line_of(text, found.start()), rule)


def _sleeps(call: ast.Call) -> bool:
    """Whether it takes time: `sleep(0)` gives others a turn, and `Event().wait()` never ends."""
    name = ast.unparse(call.func)
    if name.endswith("Event().wait"):
        return bool(call.args)
    return name.split(".")[-1] == "sleep" and [ast.unparse(given) for given in call.args] != ["0"]
