"""Creates the data of the benchmark of row filters: TPC-DS as Delta tables, whole and filtered.

usage: tpcds.py DIRECTORY SCALE EXTENSION_DIRECTORY PREDICATES

PREDICATES is JSON: table -> predicate of the visible rows. DIRECTORY/tpcds holds the tables,
DIRECTORY/tpcds-visible the visible rows of each.
"""

import json
import pathlib
import shutil
import sys

import duckdb
from deltalake import write_deltalake

FILE_BYTES = 32 << 20


def main(directory: str, scale: str, extensions: str, filters: str) -> None:
    target = pathlib.Path(directory)
    predicates = json.loads(filters)
    stamp = target / "tpcds.json"
    facts = {"layout": 1, "scale": scale, "duckdb": duckdb.__version__, "predicates": predicates}
    if stamp.exists() and json.loads(stamp.read_text()) == facts:
        return
    for folder in ("tpcds", "tpcds-visible"):
        shutil.rmtree(target / folder, ignore_errors=True)

    con = duckdb.connect(config={"extension_directory": extensions})
    con.execute("LOAD tpcds")
    con.execute(f"CALL dsdgen(sf={float(scale)})")
    for (table,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        for folder, where in (("tpcds", "true"), ("tpcds-visible", predicates.get(table, "true"))):
            rows = con.sql(f"SELECT * FROM {table} WHERE {where}").to_arrow_reader(100_000)
            write_deltalake(target / folder / table, rows, target_file_size=FILE_BYTES)

    with open(target / "tpcds.sql", "w") as out:
        for number, query in con.sql("SELECT query_nr, query FROM tpcds_queries() ORDER BY 1").fetchall():
            out.write(f"-- name: q{number:02}\n{query.strip()}\n")
    stamp.write_text(json.dumps(facts))


main(*sys.argv[1:])
