"""Writes the tables of TPC-H below argv[1] with delta-rs; argv[2] is the
extension that makes them, argv[3] the scale."""

import sys

import duckdb
from deltalake import write_deltalake

root, extension, scale = sys.argv[1:]
con = duckdb.connect()
con.execute(f"LOAD '{extension}'")
con.execute(f"CALL dbgen(sf = {scale})")
for (name,) in con.execute("SHOW TABLES").fetchall():
    write_deltalake(f"{root}/{name}", con.execute(f"FROM {name}").to_arrow_table())
