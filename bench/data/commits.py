"""Creates a table by many small commits, one data file each.

usage: commits.py DIRECTORY COMMITS

Each commit appends the next ids, so that a key is in one file. The log has the
checkpoints that delta-rs makes by itself.
"""

import json
import pathlib
import shutil
import sys

import deltalake
import pyarrow as pa

ROWS = 1000
SENSORS = 100


def rows(commit: int) -> pa.Table:
    ids = range(commit * ROWS + 1, (commit + 1) * ROWS + 1)
    return pa.table({"id": list(ids), "sensor": [i % SENSORS for i in ids], "value": [i * 0.5 for i in ids]})


def main(directory: str, commits: str) -> None:
    target = pathlib.Path(directory)
    stamp = target / "complete.json"
    facts = {"layout": 1, "commits": int(commits), "rows": ROWS}
    if stamp.exists() and json.loads(stamp.read_text()) == facts:
        return
    shutil.rmtree(target, ignore_errors=True)
    table = target / "readings"
    deltalake.write_deltalake(table, rows(0))
    log = deltalake.DeltaTable(table)
    for commit in range(1, int(commits)):
        deltalake.write_deltalake(log, rows(commit), mode="append")
    stamp.write_text(json.dumps(facts))


main(*sys.argv[1:])
