"""Tables for the workload of allowed values.

usage: allowedvalues.py DIRECTORY COUNT

source has a column value with COUNT different texts of nine characters, the decimal numbers from 0 in random order, in
files of 250,000 rows. used is an empty table with a column of the same name.
"""

import json
import pathlib
import shutil
import sys

import duckdb
from deltalake import write_deltalake

FILE_ROWS = 250_000


def main(directory: str, count: int) -> None:
    target = pathlib.Path(directory)
    stamp, facts = target.with_suffix(".json"), {"layout": 1, "count": count}
    if stamp.exists() and json.loads(stamp.read_text()) == facts:
        return
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    rows = con.sql(f"SELECT printf('%09d', range) AS value FROM range({count}) ORDER BY hash(range)").to_arrow_table()
    for at in range(0, count, FILE_ROWS):
        write_deltalake(target / "source", rows.slice(at, FILE_ROWS), mode="append")
    write_deltalake(target / "used", rows.slice(0, 0))
    stamp.write_text(json.dumps(facts))


main(sys.argv[1], int(sys.argv[2]))
