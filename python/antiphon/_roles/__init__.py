"""Roles of ready systems in Python: agents, functions, and models that are not native."""

from antiphon._roles.batch import ask_all, check_questions
from antiphon._roles.callbacks import CallerContext, as_tools
from antiphon._roles.context import RoleContext
from antiphon._roles.role import as_role, tools_in
from antiphon._roles.spec import RoleSpec
from antiphon._roles.system_role import SystemBase

__all__ = [
    "CallerContext",
    "RoleContext",
    "RoleSpec",
    "SystemBase",
    "as_role",
    "as_tools",
    "ask_all",
    "check_questions",
    "tools_in",
]
