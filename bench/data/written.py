"""Tables and rows for the workloads of writes, and delta-rs as their peer.

usage: written.py make DIRECTORY FILES LINEITEM
       written.py rows FILE TABLE OPERATION SPREAD COUNT
       written.py merge DIRECTORY FILE

make writes the table LINEITEM sorted by its key into FILES files. rows writes a
Parquet file of COUNT rows for such a table, sorted by the key: for a merge nine
of ten are rows of the table with other quantities and one is new, for an insert
all are new. Their orders follow each other in the middle of the table, or are
spread evenly over it. merge merges rows into a table and prints one JSON line:
seconds, rows inserted and rows updated. A first merge, into a copy, is not counted.
"""

import json
import os
import pathlib
import shutil
import sys
import time

from deltalake import DeltaTable, WriterProperties, write_deltalake
import duckdb
import pyarrow.parquet as pq

KEY = ["l_orderkey", "l_linenumber"]
ZSTD = WriterProperties(compression="ZSTD", compression_level=3)


def stamped(target: pathlib.Path, facts: dict) -> bool:
    """Reports whether target was made from the same facts."""
    stamp = target.with_suffix(".json")
    return stamp.exists() and json.loads(stamp.read_text()) == facts


def make(directory: str, files: str, lineitem: str) -> None:
    target = pathlib.Path(directory)
    facts = {"layout": 1, "files": int(files)}
    if stamped(target, facts):
        return
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    con.read_parquet(DeltaTable(lineitem).file_uris()).create_view("lineitem")
    rows = con.sql(f"SELECT * FROM lineitem ORDER BY {', '.join(KEY)}").to_arrow_table()
    part = -(-rows.num_rows // int(files))
    for at in range(0, rows.num_rows, part):
        write_deltalake(target, rows.slice(at, part), mode="append", writer_properties=ZSTD)
    target.with_suffix(".json").write_text(json.dumps(facts))


def rows(file: str, table: str, operation: str, spread: str, count: str) -> None:
    """Orders use 8 of every 32 numbers, so that new orders fit between them."""
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    con.read_parquet(DeltaTable(table).file_uris()).create_view("lineitem")
    n = int(count)
    old = 0 if operation == "insert" else n * 9 // 10
    total = con.sql("SELECT count(*) FROM lineitem").fetchone()[0]
    start = 0 if spread == "true" else (total - n) // 2
    step = total // n if spread == "true" else 1
    numbered = f"SELECT *, row_number() OVER (ORDER BY {', '.join(KEY)}) - 1 AS place FROM lineitem"
    chosen = f"SELECT *, (place - {start}) // {step} AS nth FROM ({numbered}) WHERE place >= {start} AND (place - {start}) % {step} = 0"
    is_old = f"nth % 10 < {10 * old // n}"
    con.sql(
        f"SELECT * EXCLUDE (place, nth) REPLACE (CASE WHEN {is_old} THEN l_orderkey ELSE l_orderkey + 16 END AS l_orderkey,"
        f" (l_quantity + 1)::DECIMAL(15, 2) AS l_quantity) FROM ({chosen}) WHERE nth < {n} ORDER BY {', '.join(KEY)}"
    ).write_parquet(file)


def merged(directory: str, file: str) -> dict:
    return (
        DeltaTable(directory).merge(
            pq.read_table(file),
            predicate=" AND ".join(f"t.{name} = s.{name}" for name in KEY),
            source_alias="s",
            target_alias="t",
            writer_properties=ZSTD,
            streamed_exec=False,  # lets it prune files by the rows' values
        )
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute()
    )


def merge(directory: str, file: str) -> None:
    shutil.copytree(directory, directory + "-first", copy_function=os.link)  # data files never change
    merged(directory + "-first", file)
    start = time.perf_counter()
    done = merged(directory, file)
    print(json.dumps({
        "seconds": time.perf_counter() - start,
        "inserted": done["num_target_rows_inserted"], "updated": done["num_target_rows_updated"],
    }), flush=True)
    os._exit(0)  # the extension's threads may abort an orderly exit


{"make": make, "rows": rows, "merge": merge}[sys.argv[1]](*sys.argv[2:])
