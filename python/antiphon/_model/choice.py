"""Whatever stands for a model, as the engine takes it."""

from __future__ import annotations

from typing import Any

from antiphon._antiphon import Model
from antiphon._model.function import FunctionModel, answers_later
from antiphon._model.langchain import LangChainModel, is_chat_model
from antiphon.errors import ValidationError
from antiphon.models import model


def as_model(given: Any, where: str) -> Model | tuple[FunctionModel | LangChainModel, bool]:
    """Whatever stands for a model, as the engine takes it.

    Args:
        given: a name, a list of names, a `Model`, a LangChain chat model, or a function of the
            request.
        where: whose it is, for an error.

    Raises:
        ValidationError: it is none of these (``model_invalid``), or as `model`.
        AuthError: as `model`.
    """
    if isinstance(given, Model):
        return given
    if isinstance(given, str | list | tuple):
        return model(given)
    if is_chat_model(given):
        return LangChainModel(given), True
    if callable(given) and not isinstance(given, type):
        return FunctionModel(given), answers_later(given)
    raise ValidationError(
        f"`model` of {where} has to be a name, a model or a function: {type(given).__name__}",
        code="model_invalid",
        hint='for instance `model = "openai:gpt-5-mini"`, or `antiphon.models.scripted([...])`',
    )
