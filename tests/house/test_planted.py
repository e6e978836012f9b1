"""The checks of the house can fail: each finds the fault that is planted for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from house import (
    test_cycles,
    test_errors,
    test_exports,
    test_file_writes,
    test_glossary,
    test_imports,
    test_layers_python,
    test_names,
    test_prompts,
    test_sizes,
    test_tests,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from house.source import Finding

_LONG = "def f():\n" + "    x = 1\n" * 60
_DEEP = "def f():\n if a:\n  for b in c:\n   while d:\n    with e:\n     if g:\n      pass\n"
_WIDE = "class A:\n    def f(self, a, b, c, d, e, f): ...\n"
_REACHING = "from antiphon.graph._compiled import CompiledGraph\n"
_NOTEBOOK = '{"cells": [{"cell_type": "code", "source": ["import antiphon._node"]}]}'
_GLOSSARY = "# A\n\n## Glossary\n\n| `Blob` | core | a blob |\n"
_ENDINGS = "\n| ending | what |\n|---|---|\n| blob | a lump |\n"

CASES: list[tuple[Callable[[Path], Iterator[Finding]], str, str, int, str]] = [
    (test_sizes.long_files, "src/core/src/a.rs", "\n" * 501, 501, "501 lines"),
    (test_sizes.hard_functions, "python/antiphon/a.py", _LONG, 1, "`f` has 61 lines"),
    (test_sizes.hard_functions, "python/antiphon/a.py", _DEEP, 1, "nests 5 deep"),
    (test_sizes.hard_functions, "python/antiphon/a.py", _WIDE, 2, "takes 6 positional"),
    (test_sizes.loose_clippy, "clippy.toml", "", 1, "`too-many-lines-threshold` must be 60"),
    (test_names.vague_names, "src/core/src/utils.rs", "", 1, "utils"),
    (test_names.vague_names, "python/antiphon/_helpers/a.py", "", 1, "_helpers"),
    (test_names.retired_names, "src/core/src/a.rs", "\nstruct Desk;", 2, "Desk"),
    (test_names.retired_names, "python/antiphon/a.py", "\nclass _Alone:\n    pass", 2, "Alone"),
    (test_names.retired_names, "src/core/src/a.rs", "\nfn rouse() {}", 2, "rouse"),
    (
        test_names.retired_names,
        "python/antiphon/a.py",
        "\n\ndef _teller() -> None: ...",
        3,
        "teller",
    ),
    (test_names.retired_names, "python/antiphon/_ledger.py", "x = 1", 1, "_ledger"),
    (test_names.retired_words, "src/core/src/a.rs", "\nfn f(haste: u8) {}", 2, "haste"),
    (test_names.retired_words, "src/core/src/a.rs", "\n//\nconst PATIENCE: u8 = 1;", 3, "PATIENCE"),
    (test_names.retired_words, "src/core/tests/a.rs", "struct A {\n    _vault: u8,\n}", 2, "vault"),
    (test_names.retired_words, "python/antiphon/a.py", "x = 1\n_begun = x", 2, "_begun"),
    (test_names.retired_words, "tests/graph/a.py", "def f(deed): ...", 1, "deed"),
    (test_names.retired_words, "src/core/tests/a.rs", "struct RunPlayed;", 1, "RunPlayed"),
    (test_names.retired_words, "tests/graph/a.py", "def played_with(): ...", 1, "played_with"),
    (test_glossary.unexplained, "src/core/src/a.rs", "\npub struct Blob;", 2, "`Blob`"),
    (test_glossary.stale, "ARCHITECTURE.md", _GLOSSARY, 5, "core has no type `Blob`"),
    (test_glossary.idle_endings, "ARCHITECTURE.md", _ENDINGS, 4, "no public type: blob"),
    (test_names.unfinished, "src/core/src/a.rs", "fn f() {\n    todo!()\n}", 2, "todo"),
    (test_names.unfinished, "src/core/src/a.rs", "#[allow(dead_code)]", 1, "expect"),
    (test_names.unfinished, "python/antiphon/a.py", "x = 1  # TODO: y", 1, "do it later"),
    (
        test_file_writes.unexpected_writes,
        "src/runtime/src/a.rs",
        "\nfs::write(f, s)",
        2,
        "fs::write",
    ),
    (test_imports.eager_imports, "python/antiphon/a.py", "import pydantic", 1, "pydantic"),
    (test_imports.private_imports, "notebooks/a.ipynb", _NOTEBOOK, 1, "_node"),
    (test_layers_python.reached_into, "python/antiphon/a.py", _REACHING, 1, "`antiphon.graph`"),
    (test_exports.wrong_exports, "python/antiphon/a.py", "x = 1", 1, "needs `__all__`"),
    (test_exports.wrong_exports, "python/antiphon/_a.py", "__all__ = ['f']", 1, "unknown names"),
    (
        test_exports.wrong_exports,
        "python/antiphon/_a.py",
        "__all__: list[str] = []\nX = 1",
        1,
        "lacks",
    ),
    (
        test_errors.undocumented,
        test_errors.CODES,
        '    NoPage = "no_page" => Tool,',
        1,
        "ToolError",
    ),
    (test_errors.unused, test_errors.CODES, '    Unused = "unused" => Tool,', 1, "Unused"),
    (test_errors.compared_as_text, "src/core/src/a.rs", 'if fault.code == "x" {}', 1, "variant"),
    (test_errors.undocumented, "python/antiphon/a.py", "ToolError('', code='x')", 1, "errors/x.md"),
    (test_errors.orphaned, "docs/errors/gone.md", "# gone", 1, "gone"),
    (test_errors.misshapen, "docs/errors/bare.md", "# bare", 1, "headings"),
    (test_prompts.unloaded, "src/systems/prompts/critic.md", "You judge.", 1, "critic.md"),
    (test_tests.sleeps, "tests/a/test_a.py", "\nawait asyncio.sleep(0.1)", 2, "take_time"),
    (test_tests.sleeps, "tests/a/test_a.py", "threading.Event().wait(1)", 1, "take_time"),
    (test_tests.sleeps, "src/a/tests/a.rs", "thread::sleep(ms(1));", 1, "wait for"),
    (test_tests.private_imports, "tests/a/test_a.py", "from antiphon import _a", 1, "antiphon._a"),
]


def test_a_cycle_of_imports_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "src/core/src/run"
    (folder / "agent").mkdir(parents=True)
    (folder.with_suffix(".rs")).write_text("mod agent;\nmod queue;\nmod unit;\npub use unit::Unit;")
    (folder / "agent.rs").write_text("mod calls;\nuse super::{queue::{Queue}, unit};")
    (folder / "agent/calls.rs").write_text("// A comment.\nuse super::super::queue::{self, Queue};")
    (folder / "queue.rs").write_text("use std::time;\npub(super) struct Queue;")
    (folder / "unit.rs").write_text("fn f() {}")

    def found() -> list[str]:
        return [str(one) for one in test_cycles.import_cycles(tmp_path, "src/core/src/run")]

    assert found() == []
    (folder / "queue.rs").write_text("\nfn f() { super::agent::calls::f() }")
    assert len(found()) == 1
    assert found()[0].startswith("src/core/src/run/agent/calls.rs:2: ")
    (folder / "queue.rs").write_text("use crate::run::Unit;")
    (folder / "unit.rs").write_text("use super::queue::Queue;")
    assert "queue.rs, src/core/src/run/unit.rs, src/core/src/run.rs" in found()[0]


def test_a_cycle_of_python_imports_is_found(tmp_path: Path) -> None:
    package = tmp_path / "python/antiphon"
    (package / "b").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("import sys\n\ndef f():\n    from antiphon.b.c import g\n")
    (package / "b/__init__.py").write_text("")
    (package / "b/c.py").write_text("from antiphon import d\n")
    (package / "d.py").write_text("import os\n")

    def found(imports: dict[str, dict[str, int]]) -> list[str]:
        return [str(one) for one in test_layers_python.cycles(tmp_path, imports)]

    imports = test_layers_python.imports_by_module(tmp_path)
    assert imports["antiphon.a"] == {"antiphon.b.c": 4}
    assert found(imports) == []
    (package / "d.py").write_text("if TYPE_CHECKING:\n    from antiphon.a import f\n")
    imports = test_layers_python.imports_by_module(tmp_path)
    way = "antiphon.a -> antiphon.b.c -> antiphon.d -> antiphon.a"
    assert any(way in one for one in found(imports))
    assert any(
        "antiphon.a -> antiphon.b ->" in one
        for one in found(test_layers_python.by_package(imports))
    )


@pytest.mark.parametrize(("check", "path", "text", "line", "words"), CASES)
def test_a_planted_fault_is_found(
    check: Callable[[Path], Iterator[Finding]],
    path: str,
    text: str,
    line: int,
    words: str,
    tmp_path: Path,
) -> None:
    place = tmp_path / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    found = [str(one) for one in check(tmp_path)]
    assert any(one.startswith(f"{path}:{line}: ") and words in one for one in found), found


def test_a_component_that_outgrows_its_limit_is_found(tmp_path: Path) -> None:
    file = tmp_path / "src/binding/src/a.rs"
    file.parent.mkdir(parents=True)
    file.write_text("\n" * 18_801)
    assert [found.rule for found in test_sizes.long_components(tmp_path)] == [
        "18801 lines in all, limit 18800"
    ]


def test_what_the_rules_allow_is_not_reported(tmp_path: Path) -> None:
    module = tmp_path / "python/antiphon/a.py"
    module.parent.mkdir(parents=True)
    module.write_text(
        '"""A module."""\n'
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import pydantic\n"
        "__all__ = ['LIMIT', 'Thing', 'make']\n"
        "LIMIT = 1\n"
        "class Thing:\n    def f(self, a, b, c, d, e, *, g): ...\n"
        "def make():\n    import pydantic\n"
    )
    checks = (test_sizes.hard_functions, test_imports.eager_imports, test_exports.wrong_exports)
    assert [str(found) for check in checks for found in check(tmp_path)] == []
