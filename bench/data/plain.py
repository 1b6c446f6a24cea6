"""Plain DuckDB as a peer: the same statements on the same tables, in process.

usage: plain.py CONFIG, where CONFIG is JSON {extensions, threads, tables, filters, mode, s3}
  tables:  name -> folder, or s3:// URL
  filters: name -> predicate, written by hand
  mode:    scan (delta_scan in every statement, as people write it)
           attached (each table attached once, at a fixed version)
           copied (what the filters leave, copied into memory first)
  s3:      {endpoint, region, key, secret} of the store, when tables are URLs

Then one JSON statement a line on stdin, one JSON answer a line on stdout.
"""

import json
import sys
import time

import duckdb


def connect(config: dict) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(config={"extension_directory": config["extensions"], "threads": config["threads"]})
    # A progress bar would be printed between the answers.
    con.execute("SET enable_progress_bar = false")
    con.execute("SET enable_progress_bar_print = false")
    con.execute("LOAD delta")
    if s3 := config.get("s3"):
        con.execute("LOAD httpfs")
        con.execute(
            f"CREATE SECRET (TYPE s3, ENDPOINT '{s3['endpoint']}', URL_STYLE 'path', USE_SSL false,"
            f" REGION '{s3['region']}', KEY_ID '{s3['key']}', SECRET '{s3['secret']}')"
        )
    for name, path in config["tables"].items():
        relation = f"delta_scan('{path}')"
        if config["mode"] == "attached":
            con.execute(f"ATTACH '{path}' AS src_{name} (TYPE delta, PIN_SNAPSHOT)")
            relation = f"src_{name}"
        where = config.get("filters", {}).get(name, "true")
        kind = "TEMP TABLE" if config["mode"] == "copied" else "VIEW"
        con.execute(f'CREATE {kind} "{name}" AS SELECT * FROM {relation} WHERE {where}')
    return con


def bytes_read() -> int:
    try:
        with open("/proc/self/io") as facts:
            return int(next(line for line in facts if line.startswith("rchar")).split()[1])
    except OSError:
        return 0


def answer(con: duckdb.DuckDBPyConnection, statement: dict) -> dict:
    read = bytes_read()
    start = time.perf_counter()
    first, rows = None, 0
    for batch in con.execute(statement["sql"], statement.get("args") or []).to_arrow_reader(100_000):
        if first is None:
            first = time.perf_counter() - start
        rows += batch.num_rows
    total = time.perf_counter() - start
    return {"seconds": total, "first": first if first is not None else total, "rows": rows, "read": bytes_read() - read}


def main() -> None:
    con = connect(json.loads(sys.argv[1]))
    print(json.dumps({"ready": duckdb.__version__}), flush=True)
    for line in sys.stdin:
        try:
            reply = answer(con, json.loads(line))
        except Exception as error:  # the runner reports it with its statement
            reply = {"error": str(error)}
        print(json.dumps(reply), flush=True)


main()
