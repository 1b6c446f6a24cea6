"""delta-rs, DuckDB's delta extension and the server itself, as readers and writers.

Argument: a JSON object with extensions (DuckDB's folder of extensions), s3
(endpoint, key, secret, region), and azure (endpoint, account, key), if delta-rs
has to reach it.
"""
import json
import os
import sys
import urllib.error
import urllib.request
from datetime import datetime, timezone
from decimal import Decimal

import canonical
import deltalake
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

options = json.loads(sys.argv[1])
s3 = options["s3"]
storage = {"s3": {
    "AWS_ENDPOINT_URL": s3["endpoint"], "AWS_ACCESS_KEY_ID": s3["key"], "AWS_SECRET_ACCESS_KEY": s3["secret"],
    "AWS_REGION": s3["region"], "AWS_ALLOW_HTTP": "true", "aws_conditional_put": "etag",
}}
if azure := options.get("azure"):
    storage["az"] = {"endpoint": azure["endpoint"], "account_name": azure["account"], "account_key": azure["key"], "allow_http": "true"}


class Server:
    """The server, through its interface."""

    plain = None  # DuckDB without Delta tables

    def read(self, request):
        body = json.dumps({"sql": f"SELECT * FROM {request['name']}", "max_staleness_ms": 0}).encode()
        headers = {"Authorization": "Bearer " + request["key"], "Content-Type": "application/json",
                   "Accept": "application/vnd.apache.arrow.stream"}
        try:
            with urllib.request.urlopen(urllib.request.Request(request["url"] + "/v1/query", body, headers)) as reply:
                return canonical.canonical(pa.ipc.open_stream(reply.read()).read_all())
        except urllib.error.HTTPError as e:
            return {"refused": e.read().decode()}


    def rows(self, request, sql):
        body = json.dumps({"sql": sql, "max_staleness_ms": 0}).encode()
        headers = {"Authorization": "Bearer " + request["key"], "Content-Type": "application/json",
                   "Accept": "application/vnd.apache.arrow.stream"}
        with urllib.request.urlopen(urllib.request.Request(request["url"] + "/v1/query", body, headers)) as reply:
            return pa.ipc.open_stream(reply.read()).read_all()

    def insert(self, request):
        """Sends a copy of the row with one id, with another id."""
        row = self.rows(request, f"SELECT * FROM {request['name']} WHERE id = {request['old']}")
        row = row.set_column(0, row.schema.field(0), pa.array([request["new"]], row.schema.field(0).type))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, row.schema) as out:
            out.write_table(row)
        headers = {"Authorization": "Bearer " + request["key"], "Content-Type": "application/vnd.apache.arrow.stream"}
        try:
            post = urllib.request.Request(request["url"] + request["path"] + "/rows", sink.getvalue().to_pybytes(), headers)
            with urllib.request.urlopen(post) as reply:
                return {"status": reply.status, "body": reply.read().decode()}
        except urllib.error.HTTPError as e:
            return {"status": e.code, "body": e.read().decode()}

    def filters(self, request):
        """The conditions for which the server returns other rows than plain DuckDB."""
        plain = self.plain = self.plain or DuckDB().connect()
        whole = self.rows(request, f"SELECT * FROM {request['name']}")
        plain.execute("CREATE OR REPLACE TABLE t AS FROM whole")
        wrong, tried = [], 0
        for name, kind in [row[:2] for row in plain.execute("DESCRIBE t").fetchall()]:
            conditions = list(conditions_on(plain, name, kind))
            tried += len(conditions)
            sql = " UNION ALL ".join(f"SELECT {i} AS condition, * FROM {{t}} WHERE {c}" for i, c in enumerate(conditions))
            got = canonical.canonical(self.rows(request, sql.format(t=request["name"])))["rows"]
            want = canonical.canonical(plain.execute(sql.format(t="t")).fetch_arrow_table())["rows"]
            differ = {int(json.loads(row)[0]) for row in set(got) ^ set(want)} if got != want else ()
            wrong += [conditions[i] for i in differ]
        return {"rows": wrong, "status": tried}


def conditions_on(plain, name, kind):
    """Conditions on a column, with its values and values between them."""
    column = '"' + name.replace('"', '""') + '"'
    yield f"{column} IS NULL"
    values = [row[0] for row in plain.execute(f"SELECT DISTINCT {column}::VARCHAR FROM t WHERE {column} IS NOT NULL ORDER BY 1").fetchall()]
    plainly = kind.split("(")[0] in ("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL",
                                      "VARCHAR", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
    if not plainly:
        yield f"{column} IS NOT NULL"
        return
    for text in values[:1] + values[-1:]:
        quoted = text.replace("'", "''").replace("{", "{{").replace("}", "}}")
        constant = f"CAST('{quoted}' AS {kind})"
        yield f"{column} = {constant}"
        yield f"{column} >= {constant}"
        yield f"{column} <> {constant}"
        if kind == "DATE":
            yield f"{column} >= CAST('{text} 12:00:00' AS TIMESTAMP)"
        elif kind in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT") or kind.startswith("DECIMAL") and len(text) < 30:
            yield f"{column} > {text} - 0.04"
            yield f"{column} < {text} + 0.004"
            yield f"{column} <> {text} + 0.04"
        elif kind in ("FLOAT", "DOUBLE") and text.replace(".", "").replace("-", "").isdigit():
            yield f"{column} > {text} - 0.04"


class DeltaRs:
    """The library deltalake, with its own reader of Parquet."""

    def open(self, request):
        return deltalake.DeltaTable(request["table"], storage_options=storage.get(request["table"].partition("://")[0]))

    def rows(self, table, where="true"):
        return pa.table(deltalake.QueryBuilder().register("t", table).execute(f"SELECT * FROM t WHERE {where}").read_all())

    def read(self, request):
        return canonical.canonical(self.rows(self.open(request)))

    def changes(self, request):
        table = self.open(request)
        feed = table.load_cdf(starting_version=request["from"], ending_version=request["to"])
        return canonical.changes(pa.table(feed.read_all()), [f.name for f in table.schema().fields])

    def copy(self, table, old, new):
        rows = self.rows(table, "false" if old is None else f"id = {old}")
        if old is None:
            rows = pa.table({f.name: pa.nulls(1, f.type) for f in rows.schema}, schema=rows.schema)
        assert rows.num_rows == 1, f"{rows.num_rows} rows with id {old}"
        return rows.set_column(0, rows.schema.field(0), pa.array([new], pa.int64()))

    def file(self, request):
        """Rows for the server's own interface, as pyarrow writes them."""
        rows = pa.table({"id": pa.array([request["new"], request["new"] + 1], pa.int32()), "name": ["é", None],
                         "price": pa.array([Decimal("5.50"), None], pa.decimal128(10, 2)),
                         "at": pa.array([datetime(2024, 1, 2, tzinfo=timezone.utc), None], pa.timestamp("ms", "Europe/Berlin"))})
        if request["name"] == "parquet":
            pq.write_table(rows, request["table"])
        else:
            with pa.OSFile(request["table"], "wb") as f, pa.ipc.new_stream(f, rows.schema) as out:
                out.write_table(rows)

    def rewrite(self, request):
        """Rewrites all files."""
        self.open(request).optimize.z_order(["id"])

    def append(self, request):
        table = self.open(request)
        deltalake.write_deltalake(table, self.copy(table, request["old"], request["new"]), mode="append")

    def merge(self, request):
        table, old, new = self.open(request), request["old"], request["new"]
        ids = ([old] if old is not None else []) + [new, new + 1]
        rows = pa.concat_tables([self.copy(table, old, id) for id in ids])
        (table.merge(rows, "t.id = s.id", source_alias="s", target_alias="t")
            .when_matched_delete(f"t.id = {new}").when_matched_update_all().when_not_matched_insert_all().execute())

    def delete(self, request):
        self.open(request).delete(f"id = {request['new']}")


class DuckDB:
    """DuckDB with its extension; attached for each request, so that nothing is cached."""

    connection = None

    def connect(self):
        c = duckdb.connect(config={"extension_directory": options["extensions"], "autoinstall_known_extensions": False,
                                   "allow_unsigned_extensions": True})
        c.execute("LOAD delta; LOAD httpfs; SET timezone = 'UTC'")
        c.execute(f"""CREATE SECRET (TYPE s3, KEY_ID '{s3['key']}', SECRET '{s3['secret']}', REGION '{s3['region']}',
                      ENDPOINT '{s3['endpoint'].removeprefix('http://')}', URL_STYLE 'path', USE_SSL false)""")
        return c

    def run(self, request, mode, *statements):
        """The rows of the last statement."""
        self.connection = self.connection or self.connect()
        try:
            self.connection.execute(f"ATTACH '{request['table']}' AS t (TYPE delta, {mode})")
            for statement in statements:
                rows = self.connection.execute(statement)
            rows = rows.fetch_arrow_table()
            self.connection.execute("DETACH t; DROP TABLE IF EXISTS temp.row")
            return rows
        except Exception:
            self.connection = None  # some errors leave an instance that cannot be used
            raise

    def read(self, request):
        return canonical.canonical(self.run(request, "READ_ONLY", "SELECT * FROM t"))

    def changes(self, request):
        self.connection = self.connection or self.connect()
        names = "SELECT function_name FROM duckdb_functions() WHERE contains(function_name, 'change') OR contains(function_name, 'cdf')"
        assert self.connection.execute(names).fetchall(), "no function reads a change feed"

    def append(self, request):
        old, new = request["old"], request["new"]
        made = f"UPDATE temp.row SET id = {new}" if old is not None else f"INSERT INTO temp.row (id) VALUES ({new})"
        where = f"id = {old}" if old is not None else "false"
        self.run(request, "READ_WRITE", f"CREATE TEMP TABLE row AS SELECT * FROM t WHERE {where}", made,
                 "INSERT INTO t SELECT * FROM temp.row")

    def merge(self, request):
        self.run(request, "READ_WRITE", f"MERGE INTO t USING (SELECT {request['new']} AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE")

    def delete(self, request):
        self.run(request, "READ_WRITE", f"DELETE FROM t WHERE id = {request['new']}")


engines = {"server": Server(), "delta-rs": DeltaRs(), "duckdb": DuckDB()}


def handle(request):
    if request["do"] == "version":
        extension = duckdb.connect(config={"extension_directory": options["extensions"], "allow_unsigned_extensions": True})
        extension.execute("LOAD delta")
        build = extension.execute("SELECT extension_version FROM duckdb_extensions() WHERE extension_name = 'delta'").fetchone()[0]
        versions = {"delta-rs": f"deltalake {deltalake.__version__}", "duckdb": f"DuckDB {duckdb.__version__}, delta {build}"}
        return {"version": versions[request["engine"]]}
    return getattr(engines[request["engine"]], request["do"])(request)


canonical.serve(handle)
sys.stderr.flush()
os._exit(0)  # threads of the libraries may abort an orderly exit
