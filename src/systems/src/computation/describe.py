def _shown(value, room):
    text = repr(value)
    return text if len(text) <= room else text[:room] + " ..."


def _described(name, value):
    kind = type(value).__name__
    if kind == "DataFrame":
        columns = ", ".join(f"{column!r} ({value[column].dtype})" for column in value.columns[:40])
        more = "" if len(value.columns) <= 40 else f", and {len(value.columns) - 40} more columns"
        head = value.head(5).to_string(max_cols=40, max_colwidth=60)
        return f"{name}: DataFrame of {len(value)} rows with the columns {columns}{more}\n{head}"
    if kind in ("list", "tuple", "dict", "set", "str", "Series", "ndarray"):
        return f"{name}: {kind} of {len(value)}: {_shown(value, 600)}"
    return f"{name}: {kind}: {_shown(value, 600)}"
