"""The pinned models."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import antiphon.local
from antiphon.errors import ValidationError
from antiphon.local.catalog import CATALOG, CatalogModel, named, of_size

TEMPLATES = Path(antiphon.local.__file__).with_name("templates")


def test_the_default_is_the_large_model() -> None:
    assert named(None) is CATALOG[0]
    assert named(None).name == "qwen2.5-coder:1.5b"


def test_no_two_models_share_a_name_a_file_a_size_or_a_hash() -> None:
    names = [name for model in CATALOG for name in (model.name, *model.aliases)]
    assert len(names) == len(set(names))
    for field in ("file", "size", "sha256"):
        assert len({getattr(model, field) for model in CATALOG}) == len(CATALOG)


@pytest.mark.parametrize("model", CATALOG, ids=lambda model: model.name)
def test_an_entry_fits_together(model: CatalogModel) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", model.sha256)
    assert model.licence == "Apache-2.0"
    assert (model.parts.count - 1) * model.parts.part_bytes < model.size
    assert model.size <= model.parts.count * model.parts.part_bytes
    requirements = {model.parts.requirement(n + 1) for n in range(model.parts.count)}
    assert len(requirements) == model.parts.count
    assert model.repository is None or model.repository.startswith("Qwen/Qwen2.5-Coder-")
    assert model.template is None or (TEMPLATES / model.template).is_file()
    assert of_size(model.size) is model


@pytest.mark.parametrize("name", ["default", "QWEN2.5-Coder", " qwen2.5-coder:1.5b "])
def test_aliases_work_in_any_case(name: str) -> None:
    assert named(name) is CATALOG[0]


def test_an_unknown_name_suggests_a_near_one() -> None:
    with pytest.raises(ValidationError) as caught:
        named("qwen2.5-coder:1.5")
    assert caught.value.code == "local_model_unknown"
    assert caught.value.message.endswith(": qwen2.5-coder:1.5")
    assert caught.value.hint == "did you mean `qwen2.5-coder:1.5b`?"


def test_a_name_like_none_lists_all() -> None:
    with pytest.raises(ValidationError, match=r"smollm2:135m.*\.gguf.*as in `local:qwen"):
        named("gpt")
