"""What the nodes of LangGraph's graphs ask: functions, or chains with a scripted chat model."""

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any

Ask = Callable[[str, Any], Awaitable[Any]]
"""Asks a role; it gets what the role needs to know, and returns its reply."""


def functions(roles: Mapping[str, Callable[[Any], Any]]) -> Ask:
    """Roles that are functions, so that no model costs anything."""

    async def ask(role: str, given: Any) -> Any:
        return roles[role](given)

    return ask


def chats(replies: Mapping[str, Any]) -> Ask:
    """A chain for each role, as LangChain's users write it: a prompt, a model, a parser of JSON."""
    from langchain_core.output_parsers import JsonOutputParser
    from langchain_core.prompts import ChatPromptTemplate

    model, parser = scripted_chat(), JsonOutputParser()
    prompt = ChatPromptTemplate.from_messages(
        [("system", "You are the {role}. Reply with a JSON object."), ("human", "{given}")]
    )
    chains = {role: prompt | model(reply=json.dumps(one)) | parser for role, one in replies.items()}

    async def ask(role: str, given: Any) -> Any:
        return await chains[role].ainvoke({"role": role, "given": json.dumps(given)})

    return ask


@cache
def scripted_chat() -> Any:
    """The class of a chat model that always replies the same."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class ScriptedChat(BaseChatModel):
        """Replies with `reply`. It answers on the event loop: a thread would cost more."""

        reply: str

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def _generate(self, *_: Any, **__: Any) -> ChatResult:
            said = AIMessage(self.reply)
            return ChatResult(generations=[ChatGeneration(message=said)])

        async def _agenerate(self, *_: Any, **__: Any) -> ChatResult:
            return self._generate()

    return ScriptedChat
