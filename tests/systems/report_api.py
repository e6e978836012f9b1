"""Roles and tools of questions about an API that makes reports, for processes that are left."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from antiphon import Tool

if TYPE_CHECKING:
    from systems.lost_question import Journal

ENDPOINT = {"method": "POST", "path": "/v1/reports"}


def replying(journal: Journal, name: str, reply: dict[str, Any]) -> Any:
    """A role that always replies the same."""

    def answer_brief(brief: dict[str, Any]) -> dict[str, Any]:
        journal.note(name, str(len(brief)))
        return reply

    return answer_brief


def report_tools(journal: Journal, **options: Any) -> list[Any]:
    """The tools of the API; what writes a report gets these options."""

    def api_endpoints(question: str) -> dict[str, Any]:
        """Find endpoints."""
        return {"endpoints": [ENDPOINT | {"description": question}]}

    def api_read(method: str) -> dict[str, Any]:
        """Read."""
        return {"status": 200, "data": method}

    def api_write(
        method: str,
        path: str,
        path_parameters: dict[str, Any],
        query: dict[str, Any],
        headers: dict[str, Any],
    ) -> dict[str, Any]:
        """Write."""
        journal.note("write", f"{method} {path} {json.dumps(query)}")
        return {"status": 201, "data": {"id": 7, **path_parameters, **query, **headers}}

    return [api_endpoints, api_read, Tool(api_write, **options)]
