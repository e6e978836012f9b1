"""Roles of ready systems that Python plays: agents, functions, models that are not native."""

from antiphon._role.choice import as_role
from antiphon._role.context import RoleContext
from antiphon._role.many import aask_all, ask_all
from antiphon._role.part import Part
from antiphon._role.played import as_tools
from antiphon._role.question import Question

__all__ = ["Part", "Question", "RoleContext", "aask_all", "as_role", "as_tools", "ask_all"]
