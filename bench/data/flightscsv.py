"""A CSV file of flights, and plain DuckDB's reading of it.

usage: flightscsv.py make PARQUET CSV BYTES
       flightscsv.py read CSV THREADS

make repeats the flights until the file has about BYTES bytes, unless it exists. read prints JSON: the seconds for reading
the whole file with detected options and types, every value of every column included, and the number of rows.
"""

import json
import os
import sys
import time

import duckdb


def connect(threads: int) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(config={"threads": threads})
    con.execute("SET enable_progress_bar = false")
    con.execute("SET TimeZone = 'UTC'")
    return con


def make(source: str, path: str, size: int) -> None:
    if os.path.exists(path):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    con, part = connect(os.cpu_count() or 1), path + ".part"
    con.execute(f"COPY (SELECT * FROM '{source}') TO '{part}' (HEADER)")
    copies = max(1, round(size / os.path.getsize(part)))
    con.execute(f"COPY (SELECT f.* FROM '{source}' AS f, range({copies})) TO '{part}' (HEADER)")
    os.rename(part, path)


def read(path: str, threads: int) -> None:
    con = connect(threads)
    start = time.perf_counter()
    rows = con.execute(f"SELECT count(*), count(COLUMNS(*)) FROM read_csv('{path}')").fetchone()[0]
    print(json.dumps({"seconds": time.perf_counter() - start, "rows": rows}))


if sys.argv[1] == "make":
    make(sys.argv[2], sys.argv[3], int(sys.argv[4]))
else:
    read(sys.argv[2], int(sys.argv[3]))
