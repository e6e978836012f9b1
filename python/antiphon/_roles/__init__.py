"""Roles of ready systems in Python: agents, functions, and models that are not native."""

from antiphon._roles.batch import ask_all, check_questions
from antiphon._roles.callbacks import CallerContext, as_tools
from antiphon._roles.context import RoleContext
from antiphon._roles.role import RoleSpec, as_role, tools_in

__all__ = [
    "CallerContext",
    "RoleContext",
    "RoleSpec",
    "as_role",
    "as_tools",
    "ask_all",
    "check_questions",
    "tools_in",
]
