"""Creates the data of the benchmarks: TPC-H as Delta tables, and many small tables.

usage: tpch.py DIRECTORY SCALE EXTENSION_DIRECTORY

lineitem and orders are written in the order of their dates and in several
files, as a table that grew day by day would be: so a filter on a date can
leave files out.
"""

import json
import pathlib
import shutil
import sys

import duckdb
from deltalake import write_deltalake

ORDER = {"lineitem": "l_shipdate", "orders": "o_orderdate"}
FILE_BYTES = 32 << 20
MANY = 100


def main(directory: str, scale: str, extensions: str) -> None:
    target = pathlib.Path(directory)
    stamp = target / "complete.json"
    facts = {"layout": 1, "scale": scale, "duckdb": duckdb.__version__}
    if stamp.exists() and json.loads(stamp.read_text()) == facts:
        return
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)

    con = duckdb.connect(config={"extension_directory": extensions})
    con.execute("LOAD tpch")
    con.execute(f"CALL dbgen(sf={float(scale)})")
    for (table,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        order = f" ORDER BY {ORDER[table]}" if table in ORDER else ""
        rows = con.sql(f"SELECT * FROM {table}{order}").to_arrow_reader(100_000)
        write_deltalake(target / "tpch" / table, rows, target_file_size=FILE_BYTES)
        print(f"wrote {table}", file=sys.stderr)

    with open(target / "tpch.sql", "w") as out:
        for number, query in con.sql("SELECT query_nr, query FROM tpch_queries() ORDER BY 1").fetchall():
            out.write(f"-- name: q{number:02}\n{query.strip()}\n")

    for number in range(MANY):
        rows = con.sql(f"SELECT range AS id, 'row ' || range AS name, {number} AS source FROM range(1000)")
        write_deltalake(target / "many" / f"t{number:03}", rows.to_arrow_reader(1000))
    stamp.write_text(json.dumps(facts))


main(*sys.argv[1:])
