MOST_ROWS = 1000


def _leaf(value):
    """A single value as a text whose first sign tells its kind; none for what has no value."""
    kind = type(value).__name__
    if kind in ("NoneType", "NaTType", "NAType") or (kind != "str" and value != value):
        return "-"
    if kind in ("bool", "bool_"):
        return "b" + str(bool(value)).lower()
    if kind in ("str", "str_"):
        return "t" + str(value)[:2000]
    if kind in ("Timestamp", "datetime", "date", "datetime64", "Period"):
        return "t" + str(value).replace("T", " ").removesuffix(" 00:00:00")
    if kind in ("Timedelta", "timedelta", "timedelta64"):
        return "t" + str(value).removesuffix(" 00:00:00").removesuffix(", 0:00:00")
    if kind == "Decimal":
        return "n" + format(value, "f")
    if kind == "Fraction":
        return "n" + repr(float(value))
    if kind.startswith(("int", "uint")):
        return "n" + str(int(value))
    if kind.startswith("float"):
        return "n" + repr(float(value))
    raise TypeError(kind)


def _is_table(value):
    return hasattr(value, "iloc") or hasattr(value, "get_columns")


def _items(value):
    """The items of a collection; none for a single value."""
    kind = type(value).__name__
    if kind in ("str", "str_", "bytes", "Period"):
        return None
    for method in ("to_list", "tolist"):
        if hasattr(value, method):
            items = getattr(value, method)()
            return items if type(items).__name__ == "list" else None
    if kind in ("dict_keys", "dict_values", "dict_items", "range", "deque"):
        return list(value)
    return list(value) if kind in ("list", "tuple", "set", "frozenset") else None


def _leaves(value):
    """All single values of a row."""
    if hasattr(value, "keys") and not _is_table(value):
        value = [*value.values()]
    items = _items(value)
    if items is None:
        return [_leaf(value)]
    return [leaf for item in items for leaf in _leaves(item)]


def _labels(index):
    """The labels of the rows of a table; none where they are only numbers of rows."""
    is_named = any([name is not None for name in index.names])
    return list(index) if is_named or str(index.dtype)[:3] not in ("int", "uin") else None


def _are_alike(values):
    """Whether single values are of one kind, as in a list, and not of several, as in a row."""
    if any([_items(value) is not None or hasattr(value, "keys") for value in values]):
        return True
    return len({_leaf(value)[0] for value in values} - {"-"}) < 2


def _rows(value):
    if hasattr(value, "get_columns"):
        return [list(row) for row in value.rows()]
    if hasattr(value, "iloc"):
        columns = getattr(value, "columns", None)
        labels = _labels(value.index)
        if columns is None:
            cells = list(value)
            # A row of a table is a series of different kinds of values.
            if str(value.dtype) == "object" and not _are_alike(cells):
                return [cells]
            rows = [[cell] for cell in cells]
        else:
            rows = [list(row) for row in value.itertuples(index=False, name=None)]
        return rows if labels is None else [[label, *row] for label, row in zip(labels, rows)]
    if hasattr(value, "keys"):
        cells = list(value.values())
        lists = [_items(cell) for cell in cells]
        if cells and all([one is not None and len(one) == len(lists[0] or []) for one in lists]):
            if len(lists[0]) > 1:
                return [list(row) for row in zip(*lists)]
        return [[key, cell] for key, cell in value.items()] if _are_alike(cells) else [cells]
    items = _items(value)
    if items is None:
        return [[value]]
    return [[item] for item in items] if _are_alike(items) else [items]


def _result_rows(value):
    """A result as rows of single values, whatever holds them; none if it cannot be compared."""
    try:
        rows = _rows(value)
        found = [_leaves(row) for row in rows[:MOST_ROWS]]
        return {"count": len(rows), "rows": found}
    except Exception:
        return None
