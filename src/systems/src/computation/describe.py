def _shown(value, room):
    text = repr(value)
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


def _column(column):
    told = [str(column.dtype)]
    groups = _groups(column)
    if groups:
        told.append(" / ".join(groups))
    missing = int(column.isna().sum())
    if missing:
        told.append(f"{missing} missing")
    return f"- {column.name!r}: {', '.join(told)}"


def _usage(name, columns):
    """Small models follow an example, above all one about these very columns."""
    numbers = [column.name for column in columns if column.dtype.kind in "iuf"]
    groups = [column for column in columns if _groups(column)]
    if not numbers:
        return []
    number = repr(numbers[0])
    told = ["Examples of code for it:", f"the mean of a column: result = {name}[{number}].mean()"]
    if groups:
        by, value = repr(groups[0].name), repr(_groups(groups[0])[0])
        total = f"{name}.groupby({by})[{number}].sum()"
        told.append(f"how many rows have a value: result = len({name}[{name}[{by}] == {value}])")
        told.append(f"the group with the largest sum: result = {total}.idxmax()")
    return told


def _table(name, table):
    head = table.iloc[:3, :40]
    # By place: several columns may have one name.
    columns = [table.iloc[:, at] for at in range(len(head.columns))]
    more = len(table.columns) - len(columns)
    told = [f"The variable `{name}` is a pandas DataFrame of {len(table)} rows. Its columns:"]
    told += [_column(column) for column in columns]
    if more:
        told.append(f"- and {more} more columns")
    rows = [head.columns, *head.itertuples(index=False, name=None)]
    told.append("Its first rows:")
    told += [",".join([_cell(cell) for cell in row]) for row in rows]
    return "\n".join(told + _usage(name, columns))


def _described(name, value):
    kind = type(value).__name__
    if kind == "DataFrame":
        return _table(name, value)
    if kind in ("list", "tuple", "dict", "set", "str", "Series", "ndarray"):
        return f"{name}: {kind} of {len(value)}: {_shown(value, 600)}"
    return f"{name}: {kind}: {_shown(value, 600)}"
