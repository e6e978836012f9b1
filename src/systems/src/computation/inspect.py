def _form(value):
    """What a result is, regardless of the library that made it."""
    kind = type(value).__name__
    if kind in ("bool", "bool_"):
        return "truth"
    if kind in ("str", "str_"):
        return "text"
    if kind in ("Timestamp", "datetime", "date", "datetime64", "Period"):
        return "moment"
    if kind == "Decimal" or kind.startswith(("int", "uint", "float")):
        return "number"
    return "items" if hasattr(value, "__len__") else "other"


def _parts(value, depth=0):
    """The single values in a result, and the labels of its rows."""
    kind = type(value).__name__
    if kind in ("DataFrame", "Series"):
        columns = [value]
        if kind == "DataFrame":
            columns = [value.iloc[:, at] for at in range(len(value.columns))]
        parts = [cell for column in columns for cell in column.head(1000)]
        # Plain numbers of rows are no labels.
        if type(value.index).__name__ != "RangeIndex":
            parts += list(value.index[:1000])
    elif hasattr(value, "keys"):
        parts = [*value.keys(), *value.values()]
    elif _form(value) == "items" and hasattr(value, "__iter__"):
        # Arrays of pandas and numpy have values of their own types.
        parts = value.tolist() if hasattr(value, "tolist") else list(value)
    else:
        parts = [value]
    found = []
    for part in parts[:1000]:
        nested = type(part).__name__ in ("list", "tuple", "dict", "set") and depth < 3
        found += _parts(part, depth + 1) if nested else [part]
    return found


def _count(value):
    """How many things a result lists: a name with its number is one."""
    kind = type(value).__name__
    # A row of a table is a Series of different kinds of values.
    if kind in ("list", "tuple", "dict") or (kind == "Series" and value.dtype == object):
        items = list(value.values()) if kind == "dict" else list(value)
        return len(items) if len({_form(item) for item in items}) < 2 else 1
    return len(value) if _form(value) == "items" else 1


def _words(cell):
    """A value as words: the case, the signs and the zero of a whole number tell nothing."""
    if _form(cell) == "number" and cell == cell // 1:
        cell = int(cell)
    text = "".join([sign if sign.isalnum() else " " for sign in str(cell).lower()])
    return f" {' '.join(text.split())} "


def _same(part, words, cell, cell_words):
    """Whether a part of a result is a cell: a number but for rounding, a text but for its case."""
    forms = (_form(part), _form(cell))
    if forms == ("number", "number"):
        return float(part) in (float(cell), round(float(cell), 2), round(float(cell), 1))
    # A number is not a date that it occurs in, but `Order 7` states the cell 7.
    is_within = forms[0] != "number" and words in cell_words
    return bool(words.strip()) and (words == cell_words or is_within or cell_words in words)


def _cells(value, most):
    """The distinct cells of each column of an input, at most one more than `most`."""
    if type(value).__name__ == "DataFrame":
        columns = [(str(name), value.iloc[:, at]) for at, name in enumerate(value.columns)]
        return [(name, list(column.dropna().unique()[: most + 1])) for name, column in columns]
    cells = {}
    for row in value:
        for name, cell in row.items():
            distinct = cells.setdefault(str(name), {})
            if cell is not None and len(distinct) <= most:
                distinct[str(cell)] = cell
    return [(name, list(distinct.values())) for name, distinct in cells.items()]


def _is_numeric(cell):
    """Whether a cell is a number, or a text that begins with one and is no date: `12 kg`."""
    is_dated = _form(cell) == "text" and cell[4:5] == "-"
    return _form(cell) == "number" or (str(cell)[:1].isdigit() and not is_dated)


def _inspected(value, question, inputs):
    """How a result and a question relate to the cells of the inputs."""
    parts = [(part, _words(part)) for part in _parts(value)[:20]]
    asked, held, named, numeric = _words(question), [], [], []
    most = 20000 // max(sum([len(list(_cells(one, 0))) for one in inputs]), 1)
    columns = [column for one in inputs for column in _cells(one, most)]
    for name, cells in columns:
        words = [(cell, _words(cell)) for cell in cells]
        # Of a column with too many values it is not known.
        if len(cells) > most or any(_same(*part, *cell) for part in parts for cell in words):
            held.append(name)
        if any(_is_numeric(cell) for cell in cells):
            numeric.append(name)
        # A single letter or two of a question are rarely the value of a cell.
        texts = [(cell, text) for cell, text in words if _form(cell) == "text"]
        named += [cell for cell, text in texts if len(text) > 4 and text in asked]
    return {
        "form": _form(value),
        "number": float(value) if _form(value) == "number" else None,
        "has_digits": any(sign.isdigit() for sign in str(value)[:1000]),
        "items": _count(value),
        "rows": max([len(one) for one in inputs], default=0),
        "present": [name for name, cells in columns],
        "held": held,
        "numeric": numeric,
        "named": named[:20],
    }
