"""The canonical form in which rows of different engines are compared.

Every engine hands out an Arrow table. It becomes a header with each column's
name and Delta type, and one line of JSON a row, sorted, in which each value is
exact: no rounding, no time zone, no difference between the layouts of Arrow.
"""
import json
import sys
import traceback

import pyarrow as pa

PLAIN = [
    (pa.types.is_null, "void"), (pa.types.is_boolean, "boolean"), (pa.types.is_int8, "byte"), (pa.types.is_int16, "short"),
    (pa.types.is_int32, "integer"), (pa.types.is_int64, "long"), (pa.types.is_float32, "float"),
    (pa.types.is_float64, "double"), (pa.types.is_date32, "date"),
    (lambda t: pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t), "string"),
    (lambda t: pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_binary_view(t), "binary"),
]


def is_list(t):
    return pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_list_view(t)


def type_name(t):
    """The name of an Arrow type in Delta's schema."""
    for test, name in PLAIN:
        if test(t):
            return name
    if pa.types.is_dictionary(t):
        return type_name(t.value_type)
    if pa.types.is_decimal(t):
        return f"decimal({t.precision},{t.scale})"
    if pa.types.is_timestamp(t) and t.unit == "us":
        return "timestamp" if t.tz else "timestamp_ntz"
    if is_list(t):
        return f"array<{type_name(t.value_type)}>"
    if pa.types.is_map(t):
        return f"map<{type_name(t.key_type)},{type_name(t.item_type)}>"
    if pa.types.is_struct(t):
        return "struct<" + ",".join(f"{f.name}:{type_name(f.type)}" for f in t) + ">"
    raise ValueError(f"no column of Delta gives {t}")


def value(s):
    """An Arrow scalar as a value that JSON represents exactly."""
    if not s.is_valid:
        return None
    t = s.type
    if pa.types.is_dictionary(t):
        return value(s.value)
    if pa.types.is_map(t):
        pairs = s.values  # structs of key and value
        return {"map": sorted(([value(p[0]), value(p[1])] for p in pairs), key=json.dumps)} if pairs is not None else None
    if is_list(t):
        return [value(v) for v in s.values]
    if pa.types.is_struct(t):
        return {"struct": [value(s[i]) for i in range(t.num_fields)]}
    if pa.types.is_timestamp(t) or pa.types.is_date(t):
        return str(s.value)
    v = s.as_py()
    if pa.types.is_floating(t):
        return "NaN" if v != v else v.hex()
    if pa.types.is_decimal(t):
        return format(v, "f")
    if isinstance(v, bytes):
        return v.hex()
    return v if isinstance(v, (bool, str)) else str(v)


def canonical(table):
    """Header and sorted rows of an Arrow table."""
    columns = [[value(v) for v in column] for column in table.columns]
    rows = [json.dumps([c[i] for c in columns], ensure_ascii=True) for i in range(table.num_rows)]
    return {"columns": [f"{f.name} {type_name(f.type)}" for f in table.schema], "rows": sorted(rows)}


def changes(feed, columns):
    """Version, kind and row of every row of a change feed; the rows have the table's columns only."""
    columns = [[value(v) for v in feed[name]] for name in columns]
    kinds = zip(feed["_commit_version"].to_pylist(), feed["_change_type"].to_pylist())
    return {"rows": [f"{version} {kind} {json.dumps([c[i] for c in columns], ensure_ascii=True)}"
                     for i, (version, kind) in enumerate(kinds)]}


def serve(handle):
    """Answers one line of JSON on standard input with one on standard output.

    What an engine says to a request that it cannot do is an answer, too.
    """
    answers = sys.stdout
    sys.stdout = sys.stderr  # so that output of libraries does not mix with answers
    for line in sys.stdin:
        try:
            answer = handle(json.loads(line))
        except Exception as e:
            traceback.print_exc(limit=3, chain=False)
            answer = {"refused": f"{type(e).__name__}: {e}".split("\n\tat ")[0][:2000]}
        answers.write(json.dumps(answer or {}) + "\n")
        answers.flush()
