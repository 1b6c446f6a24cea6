"""Plain DuckDB on a leash: one JSON line in for each statement, one out with its
rows or its error. The first line has the extensions and the statements to begin
with."""

import json
import sys
import time

import duckdb

con = duckdb.connect(config={"threads": 8})
for line in sys.stdin:
    ask = json.loads(line)
    start, cpu = time.monotonic(), time.process_time()
    try:
        for sql in ask["sql"][:-1]:
            con.execute(sql)
        rows = con.execute(ask["sql"][-1]).fetchall()
        answer = {"rows": [[None if v is None else str(v) for v in row] for row in rows]}
    except Exception as e:
        answer = {"error": str(e)}
    answer["ms"] = round((time.monotonic() - start) * 1000, 2)
    answer["cpu_ms"] = round((time.process_time() - cpu) * 1000, 2)
    print(json.dumps(answer), flush=True)
