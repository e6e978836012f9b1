"""The outcome of a run: one frame and its attachments."""

from __future__ import annotations

import itertools
import types
from json import dumps
from typing import TYPE_CHECKING, Any

from . import figures, table
from .budget import Budget, ShapeAllowance, TooLarge
from .encode import Encoder
from .fault import exception_fault, make_fault
from .safe_repr import is_a

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from .fault import Fault

_Sent = str | dict[str, list[Any]] | None
_NAME = 900
"""Most characters of a returned name; the host accepts some more, for an appended number."""
_LOST = 200
"""Most lost tables that are reported."""
_UNSEEN = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)


class OutcomeBuilder:
    """Collects value, locals, tables and figures of a run; each may fail alone.

    `given` are the variables that the host has set, `cells` the file names of the user's code.
    """

    def __init__(
        self,
        namespace: dict[str, Any],
        given: dict[str, Any],
        *,
        limits: dict[str, int],
        want: Collection[str],
        cells: Collection[str],
    ) -> None:
        self._namespace = namespace
        self._given = given
        self._limits = limits
        self._want = want
        self._cells = cells
        self._parts: dict[str, str] = {}
        self._errors: dict[str, dict[str, Fault]] = {"local_errors": {}, "table_errors": {}}
        self._tables: dict[str, table.Table] = {}
        self._table_bytes_left = limits["tables_bytes"]
        # Shared by all variables: each alone may be small.
        self._shapes = ShapeAllowance(limits["value_nodes"])
        # References to the frames keep their ids valid.
        self._names: dict[int, tuple[Any, _Sent]] = {}
        self._figures: list[bytes] = []

    def value(self, value: Any) -> None:
        """Add the value of the last expression."""
        if "value" not in self._want:
            return
        budget = self._budget(self._limits["value_bytes"])
        try:
            encoder = Encoder(budget, self._tabulator("value"), shapes=self._shapes)
            self._parts["value"] = budget.text_of(encoder.encode(value))
        except BaseException as problem:  # noqa: BLE001 - encoding runs user code
            self._parts["value_error"] = dumps(self._fault(problem))

    def locals(self) -> None:
        """Add the variables that the code assigned."""
        if "locals" not in self._want:
            return
        texts: dict[str, str] = {}
        errors = self._errors["local_errors"]
        left = self._limits["locals_bytes"]
        most = self._limits["local_names"]
        # One more than the limit is enough to detect that there are more.
        names = list(itertools.islice(self._assignments(), most + 1))
        for name in names[:most]:
            budget = self._budget(min(self._limits["local_bytes"], left))
            try:
                encoder = Encoder(budget, self._tabulator(name), shapes=self._shapes)
                texts[name] = budget.text_of(encoder.encode(self._namespace[name]))
                left -= len(texts[name].encode())
            except BaseException as problem:  # noqa: BLE001 - as above
                errors[name] = self._fault(problem)
        if len(names) > most:
            errors[names[most]] = make_fault(
                "result_too_large", f"more than {most} names are assigned"
            )
        pairs = (f"{dumps(name)}:{text}" for name, text in texts.items())
        self._parts["locals"] = "{" + ",".join(pairs) + "}"

    def figures(self) -> None:
        """Add the open figures."""
        if "figures" in self._want:
            self._figures = figures.render_open_figures(self._limits)

    def frames(self, error: Fault | None) -> tuple[bytes, list[bytes | memoryview]]:
        """Return the body of the outcome and its attachments in order."""
        tables = [
            {"name": name, "rows": found.rows, "columns": found.columns}
            for name, found in self._tables.items()
        ]
        rest = {**self._errors, "tables": tables, "figures": len(self._figures), "error": error}
        parts = [f'"{name}":{text}' for name, text in self._parts.items()]
        # Missing fields are empty.
        parts += [f'"{name}":{dumps(item)}' for name, item in rest.items() if item]
        body = ("{" + ",".join(parts) + "}").encode()
        return body, [*(found.stream for found in self._tables.values()), *self._figures]

    def _budget(self, size: int) -> Budget:
        return Budget(
            bytes=size, nodes=self._limits["value_nodes"], depth=self._limits["value_depth"]
        )

    def _assignments(self) -> Iterator[str]:
        for name, value in list(self._namespace.items()):
            if (
                _is_public(name)
                and not (name in self._given and self._given[name] is value)
                and not is_a(type(value), *_UNSEEN)
            ):
                yield name

    def _tabulator(self, place: str) -> Callable[[Any], _Sent] | None:
        if "tables" not in self._want:
            return None
        return lambda frame: self._add_table(frame, place)

    def _add_table(self, frame: Any, place: str) -> _Sent:
        if id(frame) in self._names:
            return self._names[id(frame)][1]
        name = self._free(next((n for n in self._namespace if self._is(n, frame)), place))
        sent: _Sent = None
        most = min(self._limits["table_bytes"], self._table_bytes_left)
        try:
            self._count()
            self._tables[name] = found = table.write_table(frame, most)
            self._table_bytes_left -= len(found.stream)
            sent = name
        except ImportError:
            sent = table.as_columns(frame)
        except OverflowError:
            message = f"the table needs more than {most} bytes"
            self._report_lost(name, make_fault("result_too_large", message))
        except Exception as problem:  # noqa: BLE001 - cells of a table are objects of user code
            self._report_lost(name, self._fault(problem))
        self._names[id(frame)] = (frame, sent)
        return sent

    def _report_lost(self, name: str, why: Fault) -> None:
        if len(self._errors["table_errors"]) < _LOST:
            self._errors["table_errors"][name] = why

    def _count(self) -> None:
        if len(self._tables) >= self._limits["tables"]:
            raise TooLarge(f"there are more than {self._limits['tables']} tables")

    def _is(self, name: Any, frame: Any) -> bool:
        return _is_public(name) and self._namespace[name] is frame

    def _free(self, stem: str) -> str:
        taken = {*self._tables, *self._errors["table_errors"]}
        name, count = stem, 1
        while name in taken:
            count += 1
            name = f"{stem}_{count}"
        return name

    def _fault(self, problem: BaseException) -> Fault:
        if type(problem) is TooLarge:
            return make_fault("result_too_large", f"the value is too large: {problem}")
        return exception_fault(problem, self._cells)


def _is_public(name: Any) -> bool:
    """Whether a variable of this name is returned: it must not contain control characters."""
    return (
        type(name) is str and not name.startswith("_") and len(name) <= _NAME and name.isprintable()
    )
