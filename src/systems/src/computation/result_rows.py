MOST_ROWS = 1000
MISSING = ("NoneType", "NaTType", "NAType")
TEXTS = ("str", "str_")
TIMES = ("Timestamp", "datetime", "date", "datetime64", "Period", "Timedelta", "timedelta")


def _digits(value, kind):
    if kind == "Decimal":
        return format(value, "f")
    return str(int(value)) if kind.startswith(("int", "uint")) else repr(float(value))


def _time_text(text):
    """A date, a time or a duration, without the zeros of midnight."""
    text = text.replace("T", " ").removesuffix(".000000000")
    return text.removesuffix(" 00:00:00").removesuffix(", 0:00:00")


def _single_value(value):
    """A single value as a text whose first sign tells its kind."""
    kind, text = type(value).__name__, str(value)
    if kind in MISSING or text == "nan":
        return "-"
    if kind in ("bool", "bool_"):
        return "b" + text.lower()
    if kind in ("Decimal", "Fraction") or kind.startswith(("int", "uint", "float")):
        return "n" + _digits(value, kind)
    if kind in TEXTS or kind in TIMES:
        return "t" + (text[:2000] if kind in TEXTS else _time_text(text))
    raise TypeError(kind)


def _items(value):
    """The items of a collection; none for a single value."""
    kind = type(value).__name__
    for method in ("to_list", "tolist"):
        if hasattr(value, method) and kind not in TEXTS:
            items = getattr(value, method)()
            return items if type(items).__name__ == "list" else None
    known = ("list", "tuple", "set", "frozenset", "range", "deque", "dict_keys", "dict_values")
    return list(value) if kind in known else None


def _is_dict(value):
    return hasattr(value, "keys") and not hasattr(value, "iloc")


def _single_values(value):
    """All single values of a row."""
    items = list(value.values()) if _is_dict(value) else _items(value)
    if items is None:
        return [_single_value(value)]
    found = []
    for item in items:
        found += _single_values(item)
    return found


def _are_alike(values):
    """Whether single values are of one kind, as in a list, and not of several, as in a row."""
    single = [value for value in values if _items(value) is None and not _is_dict(value)]
    kinds = {_single_value(value)[0] for value in single} - {"-"}
    return len(single) < len(values) or len(kinds) < 2


def _listed(items):
    return [[item] for item in items] if _are_alike(items) else [items]


def _dict_rows(value):
    cells = list(value.values())
    lists = [_items(cell) or [] for cell in cells]
    # Lists of one length are the columns of a table.
    if len({len(one) for one in lists}) == 1 and len(lists[0]) > 1:
        return [list(row) for row in zip(*lists, strict=True)]
    return [[key, cell] for key, cell in value.items()] if _are_alike(cells) else [cells]


def _table_rows(table):
    if hasattr(table, "columns"):
        rows = [list(row) for row in table.itertuples(index=False, name=None)]
    else:
        # A row of a table is a series of several kinds of values.
        rows = _listed(list(table)) if str(table.dtype) == "object" else [[it] for it in table]
    is_named = len([name for name in table.index.names if name is not None]) > 0
    # Numbers of rows are no labels.
    is_numbered = not is_named and str(table.index.dtype)[:3] in ("int", "uin")
    if is_numbered or len(rows) != len(table):
        return rows
    return [[label, *row] for label, row in zip(list(table.index), rows, strict=True)]


def _rows(value):
    if hasattr(value, "get_columns"):
        return [list(row) for row in value.rows()]
    if hasattr(value, "iloc"):
        return _table_rows(value)
    if _is_dict(value):
        return _dict_rows(value)
    items = _items(value)
    return [[value]] if items is None else _listed(items)


def _result_rows(value):
    """A result as rows of single values, whatever holds them; fails if it cannot be compared."""
    rows = _rows(value)
    return {"count": len(rows), "rows": [_single_values(row) for row in rows[:MOST_ROWS]]}
