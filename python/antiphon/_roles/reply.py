"""The reply of a role, from what its code returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._json_values import encode_result
from antiphon._orchestrator.state import fields_of, is_record
from antiphon.errors import ModelOutputError, ToolError

if TYPE_CHECKING:
    from antiphon._roles.spec import RoleSpec


def read_reply(role: RoleSpec, returned: Any, hint: str) -> dict[str, Any]:
    """The fields of a reply: of a record, or with a bare text as the first of them.

    Raises:
        ModelOutputError: it is neither, or has a value that JSON lacks (``role_reply_invalid``).
    """
    if isinstance(returned, str) and role.speaks:
        return {**dict.fromkeys(role.replies, ""), role.replies[0]: returned}
    if not is_record(returned):
        kind = type(returned).__name__
        raise misfit(role, "should be a dict or another record but is", kind, hint)
    return {key: _encode(role, key, value, hint) for key, value in _fields(returned).items()}


def misfit(
    role: RoleSpec, complaint: str, found: str, hint: str, field: str = ""
) -> ModelOutputError:
    """The error of a reply that does not fit its role."""
    return ModelOutputError(
        f"the reply of the {role.name} {complaint}: {found}",
        code="role_reply_invalid",
        details={"role": role.name, "field": field},
        hint=hint,
    )


def _encode(role: RoleSpec, key: str, value: Any, hint: str) -> Any:
    try:
        return encode_result(value)
    except ToolError:
        complaint = f"has something as `{key}` that JSON lacks"
        raise misfit(role, complaint, type(value).__name__, hint, key) from None


def _fields(reply: Any) -> dict[str, Any]:
    """All fields of a record; of a pydantic model those too that were left at their defaults."""
    names = getattr(type(reply), "model_fields", None)
    return fields_of(reply) if names is None else {name: getattr(reply, name) for name in names}
