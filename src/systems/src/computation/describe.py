def _cut(text, room):
    return text if len(text) <= room else text[:room] + " ..."


def _cell(value):
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else text[:60] + " ..."


def _groups(column):
    """What recurs in a column of texts, if that is little."""
    if str(column.dtype) not in ("str", "object", "string", "category"):
        return []
    try:
        values = column.dropna().unique()
    except TypeError:  # lists and dicts are not unique
        return []
    return sorted([_cell(value) for value in values]) if len(values) <= 8 else []


def _is_day(cell):
    """Whether a cell is a text such as 2024-05-17."""
    parts = cell.split("-") if type(cell).__name__ == "str" else []
    return [len(part) for part in parts] == [4, 2, 2] and "".join(parts).isdigit()


def _holds_days(column):
    if str(column.dtype) not in ("str", "object", "string"):
        return False
    cells = column.dropna()
    return len(cells) > 0 and all(_is_day(cell) for cell in cells[:1000])


def _many(name):
    """The 100 of a name such as `fuel L/100km`."""
    digits = ""
    for sign in str(name).partition("/")[2].strip():
        if not sign.isdigit():
            break
        digits += sign
    return digits if digits not in ("", "0", "1") else None


def _column(column):
    facts = [str(column.dtype)]
    many = _many(column.name) if column.dtype.kind in "iuf" else None
    if many:
        facts.append(f"per {many}: divide by {many} for 1")
    if _holds_days(column):
        facts.append("dates as text")
    groups = _groups(column)
    if groups:
        facts.append(" / ".join(groups))
    missing = int(column.isna().sum())
    if missing:
        facts.append(f"{missing} missing")
    return f"- {column.name!r}: {', '.join(facts)}"


def _key(columns):
    """The column that names the rows: the first whose values differ."""
    names = [
        column.name
        for column in columns
        if column.dtype.kind not in "fb" and column.notna().all() and column.is_unique
    ]
    return names[:1]


def _dates(name, columns):
    """How the texts in columns of dates become dates."""
    days = [f"pd.to_datetime({name}[{one.name!r}])" for one in columns if _holds_days(one)]
    if not days:
        return []
    lines = [f"the months of a column: import pandas as pd; months = {days[0]}.dt.month"]
    if len(days) > 1:
        lines.append(f"the days from one date to another: days = ({days[1]} - {days[0]}).dt.days")
    return lines


def _usage(name, columns):
    """Small models follow an example, above all one about these very columns."""
    numbers = [column for column in columns if column.dtype.kind in "iuf"]
    # Whole numbers that never recur count or name the rows: nobody wants their mean.
    measured = [one for one in numbers if one.dtype.kind == "f" or not one.is_unique]
    numbers = [column.name for column in measured or numbers]
    groups = [one for one in columns if _groups(one) and not _holds_days(one)]
    dates = _dates(name, columns)
    if not numbers:
        return ["Examples of code for it:", *dates] if dates else []
    number = repr(numbers[0])
    lines = ["Examples of code for it:", f"how many rows there are: result = len({name})"]
    lines.append(f"the mean of a column: result = {name}[{number}].mean()")
    for key in [key for key in _key(columns) if key != numbers[0]]:
        largest = f"{name}.loc[{name}[{number}].idxmax(), {key!r}]"
        lines.append(f"the row with the largest value: result = {largest}")
    if groups:
        by, value = repr(groups[0].name), repr(_groups(groups[0])[0])
        lines.append(f"how many rows have a value: result = len({name}[{name}[{by}] == {value}])")
    for by in [repr(one.name) for one in groups if not one.dropna().is_unique][:1]:
        total = f"{name}.groupby({by})[{number}].sum()"
        lines.append(f"the group with the largest sum: result = {total}.idxmax()")
    return lines + dates


def _names(columns):
    """The names of columns, and how many have no room."""
    listed, room = [], 2000
    for column in columns:
        room -= len(repr(column.name)) + 2
        if room < 0:
            break
        listed.append(repr(column.name))
    left = len(columns) - len(listed)
    return ", ".join(listed) + (f", and {left} whose names are left out" if left else "")


def _table(name, table):
    head = table.iloc[:3, :40]
    # By place: several columns may have one name.
    columns = [table.iloc[:, at] for at in range(len(table.columns))]
    lines = [f"The variable `{name}` is a pandas DataFrame of {len(table)} rows. Its columns:"]
    lines += [_column(column) for column in columns[:40]]
    where = ""
    if len(columns) > 40:
        where = f", of which only the first 40 of {len(columns)} columns are shown"
        lines.append(f"- and {len(columns) - 40} more: {_names(columns[40:])}")
    rows = [head.columns, *head.itertuples(index=False, name=None)]
    lines.append(f"Its first rows{where}:")
    lines += [",".join([_cell(cell) for cell in row]) for row in rows]
    return "\n".join(lines + _usage(name, columns[:40]))


def _columns(value, kind):
    """What can be read of it by name, and how much of that is missing."""
    if kind == "DataFrame":
        columns = [value.iloc[:, at] for at in range(len(value.columns))]
        return [{"name": str(one.name), "missing": int(one.isna().sum())} for one in columns]
    if kind != "list" or [row for row in value if type(row).__name__ != "dict"]:
        return []
    names = []
    for row in value:
        names += [key for key in row if key not in names]
    return [
        {"name": str(name), "missing": len([row for row in value if row.get(name) is None])}
        for name in names
    ]


def _result(name, value, kind):
    """A result as the model is to word it: all of it, where it is not long."""
    if kind == "DataFrame":
        has_labels = type(value.index).__name__ != "RangeIndex"
        rows = value.head(100).to_csv(index=has_labels)
        return f"The variable `{name}` is a table of {len(value)} rows:\n{rows}"
    if kind == "Series":
        rows = value.head(100).to_csv(header=False)
        return f"The variable `{name}` has {len(value)} values:\n{rows}"
    if kind in ("list", "tuple", "dict", "set", "str"):
        return f"{name}: {kind} of {len(value)}: {_cut(repr(value), 4000)}"
    return f"{name}: {kind}: {_cut(repr(value), 4000)}"


def _is_empty(value, kind):
    if kind in ("DataFrame", "Series", "ndarray"):
        if value.size == 0:
            return True
        missing = getattr(value, "isna", None)
        return bool(missing().values.all()) if missing else False
    return kind in ("NaTType", "NAType")


def _input(name, value, kind):
    if kind == "DataFrame":
        return _table(name, value)
    if kind in ("list", "tuple", "dict", "set", "str", "Series", "ndarray"):
        return f"{name}: {kind} of {len(value)}: {_cut(repr(value), 600)}"
    return f"{name}: {kind}: {_cut(repr(value), 600)}"


def _described(name, value):
    kind = type(value).__name__
    shown = _result if name in ("result", "table") else _input
    columns = _columns(value, kind)
    return {
        "name": name,
        "text": shown(name, value, kind),
        "rows": len(value) if columns else 0,
        "columns": columns,
        "is_empty": _is_empty(value, kind),
    }


def _cells(value):
    """The texts in which a value holds others."""
    kind = type(value).__name__
    if kind == "DataFrame":
        columns = [value.iloc[:, at] for at in range(len(value.columns))]
        return [
            one.dropna().astype(str).unique() for one in columns if one.dtype.kind not in "iufb"
        ]
    return [[repr(value)]]


def _absent(texts, values):
    """Those of the texts that no cell of the values holds, in upper or lower case."""
    cells = [cells for value in values for cells in _cells(value)]
    return [
        text
        for text in texts
        if not any(text.lower() in cell.lower() for column in cells for cell in column)
    ]
