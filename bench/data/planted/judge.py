"""Counts the rows that violate suggested rules, with plain DuckDB over the same rows, or over more of them.

usage: judge.py DIRECTORY RULES

RULES is a JSON file: a list of {table, kind, ...}, where kind is check (expr), not_null, unique or primary_key (columns), list (columns,
values) or range (columns, min, max, inclusive). Prints a list of {violations} or {error}. A check is violated where it is not true.
"""

import json
import pathlib
import sys

from deltalake import DeltaTable
import duckdb


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def statement(con: duckdb.DuckDBPyConnection, rule: dict) -> str:
    if rule["kind"] == "check":
        return f"SELECT count(*) FILTER (WHERE ({rule['expr']}) IS NOT TRUE) FROM rows"
    columns = [quoted(c) for c in rule["columns"]]
    first, known = columns[0], {name: kind for name, kind, *_ in con.execute("DESCRIBE rows").fetchall()}
    kind = known[rule["columns"][0]]
    if rule["kind"] == "not_null":
        return f"SELECT count(*) FROM rows WHERE {first} IS NULL"
    if rule["kind"] in ("unique", "primary_key"):
        where = f"WHERE {first} IS NOT NULL" if rule["kind"] == "unique" else ""
        return f"SELECT coalesce(sum(n), 0) FROM (SELECT count(*) AS n FROM rows {where} GROUP BY {', '.join(columns)} HAVING n > 1)"
    if rule["kind"] == "list":
        return f"SELECT count(*) FROM rows WHERE {first} NOT IN ({', '.join(f'CAST({text(v)} AS {kind})' for v in rule['values'])})"
    equal = "=" if rule.get("inclusive", True) else ""
    bounds = [f"{first} {op}{equal} CAST({text(rule[b])} AS {kind})" for b, op in (("min", ">"), ("max", "<")) if rule.get(b)]
    return f"SELECT count(*) FROM rows WHERE NOT ({' AND '.join(bounds)})"


def main(directory: str, rules: str) -> None:
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    con.execute("SET TimeZone = 'UTC'")
    found, loaded = [], None
    for rule in json.loads(pathlib.Path(rules).read_text()):
        try:
            if loaded != rule["table"]:
                loaded = rule["table"]
                con.register("seen", DeltaTable(pathlib.Path(directory) / loaded).to_pyarrow_table())
                con.execute("CREATE OR REPLACE TABLE rows AS SELECT * FROM seen")
            found.append({"violations": int(con.execute(statement(con, rule)).fetchone()[0])})
        except (duckdb.Error, KeyError, IndexError) as error:
            found.append({"error": f"{type(error).__name__}: {error}"})
    print(json.dumps(found))


main(*sys.argv[1:])
