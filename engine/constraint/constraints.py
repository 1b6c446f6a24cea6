"""Asks delta-rs which rows it takes into a table with a constraint.

stdin: {"dir", "cases": [{"expr", "broken": [row numbers]}], "rows": [...]}.
stdout: one line for each disagreement.
"""
import datetime
import decimal
import json
import os
import sys

import deltalake
import pyarrow as pa

SCHEMA = pa.schema([
    ("id", pa.int64()), ("i", pa.int32()), ("Sm", pa.int16()), ("name", pa.string()), ("d", pa.float64()),
    ("dec", pa.decimal128(12, 2)), ("day", pa.date32()), ("ts", pa.timestamp("us", tz="UTC")), ("ok", pa.bool_()),
])


def table(rows):
    columns = list(zip(*rows))
    read = {
        "dec": decimal.Decimal,
        "day": datetime.date.fromisoformat,
        "ts": lambda v: datetime.datetime.fromisoformat(v).replace(tzinfo=datetime.timezone.utc),
    }
    arrays = [
        pa.array([None if v is None else read.get(f.name, lambda v: v)(v) for v in column], f.type)
        for f, column in zip(SCHEMA, columns)
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def create(path, expr):
    """Writes the constraint into the log as the server does."""
    deltalake.DeltaTable.create(path, schema=SCHEMA)
    log = os.path.join(path, "_delta_log", "00000000000000000000.json")
    with open(log) as f:
        actions = [json.loads(line) for line in f]
    for action in actions:
        if "metaData" in action:
            action["metaData"]["configuration"]["delta.constraints.c"] = expr
        if "protocol" in action:
            action["protocol"] = {"minReaderVersion": 1, "minWriterVersion": 3}
    with open(log, "w") as f:
        f.write("".join(json.dumps(a) + "\n" for a in actions))


def takes(path, rows):
    try:
        deltalake.write_deltalake(path, table(rows), mode="append")
        return True
    except Exception as e:
        return "Invalid data found" not in str(e) and str(e)[:300]


def main():
    work = json.load(sys.stdin)
    rows = work["rows"]
    for n, case in enumerate(work["cases"]):
        path = os.path.join(work["dir"], str(n))
        create(path, case["expr"])
        broken = set(case["broken"])
        good = [r for i, r in enumerate(rows) if i not in broken]
        if good and takes(path, good) is not True:
            for i, r in enumerate(rows):
                if i not in broken and (said := takes(path, [r])) is not True:
                    print(case["expr"], "refuses", r, said or "")
        for i in sorted(broken)[:3]:
            if (said := takes(path, [rows[i]])) is not False:
                print(case["expr"], "takes", rows[i], said)


main()
