"""A table of delta-rs with columns of every flat type, and what becomes of it.

rests.py make FOLDER SEED   writes the table, each file in one row group of many pages
rests.py check FOLDER       reads the changes made since, one JSON list, and prints what is
                            wrong with the table: rows by delta-rs, statistics by DuckDB
"""
import datetime, decimal, json, os, random, sys
import duckdb, pyarrow as pa, pyarrow.parquet as pq
from deltalake import DeltaTable, WriterProperties, write_deltalake

ROWS, FILES = 60000, 2


def make(folder, seed):
    r = random.Random(seed)
    for f in range(FILES):
        first, n = f * ROWS, range(ROWS)
        some = lambda value: [None if r.random() < 0.01 else value() for _ in n]
        day = datetime.date(2020, 1, 1)
        columns = {
            "id": pa.array([first + i for i in n], pa.int64()),
            "v": pa.array(["value %d" % (i % 700) for i in n]),
            "p": pa.array(some(lambda: r.choice("abc"))),
            "bool": pa.array(some(lambda: r.random() < 0.5)),
            "byte": pa.array(some(lambda: r.randint(-100, 100)), pa.int8()),
            "short": pa.array(some(lambda: r.randint(-30000, 30000)), pa.int16()),
            "int": pa.array([i // 100 - 250 for i in n], pa.int32()),
            "long": pa.array(some(lambda: r.randint(-(1 << 60), 1 << 60)), pa.int64()),
            "float": pa.array(some(lambda: r.choice([0.0, -0.0, 1.5, r.random()])), pa.float32()),
            "double": pa.array(some(lambda: r.choice([float("inf"), -2.5, r.random()])), pa.float64()),
            "nan": pa.array([float("nan") if i == 7 else float(i) for i in n], pa.float64()),
            "small": pa.array([decimal.Decimal(i % 9000 - 100).scaleb(-2) for i in n], pa.decimal128(9, 2)),
            "large": pa.array(some(lambda: decimal.Decimal(r.randint(-(10**30), 10**30)).scaleb(-4)), pa.decimal128(38, 4)),
            "date": pa.array([day + datetime.timedelta(days=i // 50) for i in n]),
            "time": pa.array([1_600_000_000_000_000 + 1_234_567 * i for i in n], pa.timestamp("us", "UTC")),
            "text": pa.array(some(lambda: "é" * r.randint(0, 40))),
            "none": pa.array([None] * ROWS, pa.int32()),
            "bytes": pa.array([r.randbytes(90) for _ in n]),
        }
        write_deltalake(folder, pa.table(columns), mode="append",
                        writer_properties=WriterProperties(compression="ZSTD", data_page_row_count_limit=r.choice([3000, 20000]), dictionary_page_size_limit=20000))


def text(column, kind):
    """A value as it is compared with a bound: bounds of moments are to the millisecond."""
    return f"epoch_ms({column})" if kind == "TIMESTAMP WITH TIME ZONE" else column


def check(folder):
    changes, wrong = json.load(sys.stdin), []
    now, first = DeltaTable(folder), DeltaTable(folder, version=FILES - 1)
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    old = pa.table(first.to_pyarrow_table())
    con.execute("CREATE TABLE want AS FROM old")
    for c in changes:
        if c["op"] == "delete":
            con.execute("DELETE FROM want WHERE id BETWEEN ? AND ?", [c["from"], c["to"]])
        elif c["op"] == "update":
            con.execute("UPDATE want SET v = ? WHERE id BETWEEN ? AND ?", [c["v"], c["from"], c["to"]])
        else:
            for i in range(c["from"], c["to"] + 1, c["step"]):
                if con.execute("UPDATE want SET v = ?, p = 'm' WHERE id = ?", [c["v"], i]).fetchone()[0] == 0:
                    con.execute("INSERT INTO want (id, v, p) VALUES (?, ?, 'm')", [i, c["v"]])
    got = pa.table(now.to_pyarrow_table())
    for one, other in (("want", "got"), ("got", "want")):
        n, some = con.execute(f"SELECT count(*), min(id) FROM ((FROM {one}) EXCEPT ALL (FROM {other}))").fetchone()
        if n:
            wrong.append(f"{n} rows of {one} are not in {other}, one with id {some}")
    rests = 0
    before = set(first.file_uris())
    for path, stats in live(folder):
        path = os.path.join(folder, path)
        if path in before:
            continue
        rests += "parquet-rs" in pq.read_metadata(path).created_by
        if con.execute(f"SELECT count(*) FROM '{path}'").fetchone()[0] != stats["numRecords"]:
            wrong.append(path + " has another number of rows")
        for name, kind, *_ in con.execute(f"DESCRIBE FROM '{path}'").fetchall():
            nulls = con.execute(f'SELECT count(*) FILTER ("{name}" IS NULL) FROM \'{path}\'').fetchone()[0]
            if stats["nullCount"].get(name) != nulls:
                wrong.append(f"{path}: {name} has {nulls} nulls, not {stats['nullCount'].get(name)}")
            if kind in ("BOOLEAN", "BLOB") or name in ("nan", "none", "double"):
                if kind == "DOUBLE" and name == "nan" and con.execute(f"SELECT bool_or(isnan(nan)) FROM '{path}'").fetchone()[0] and name in stats["minValues"]:
                    wrong.append(path + ": bounds beside NaN")
                continue
            value = text(f'"{name}"', kind)
            low, high = (f"'{stats[b].get(name)}'::{kind}" for b in ("minValues", "maxValues"))
            exact = kind != "VARCHAR" and (stats["tightBounds"] or not kind.startswith("DECIMAL"))
            condition = " AND ".join((
                f"min({value}) {'=' if exact else '>='} {text(low, kind)}",
                f"abs(max({value}) - {text(high, kind)}) <= 1" if "TIME" in kind else f"max({value}) {'=' if exact else '<='} {text(high, kind)}",
            ))
            if not con.execute(f"SELECT {condition} FROM '{path}'").fetchone()[0]:
                wrong.append(f"{path}: bounds of {name} are {low} and {high}, its values "
                             + str(con.execute(f'SELECT min("{name}"), max("{name}") FROM \'{path}\'').fetchone()))
    json.dump({"wrong": wrong, "rests": rests}, sys.stdout)


def live(folder):
    """The files of the log, whose statistics delta-rs does not show as they are written."""
    files = {}
    log = os.path.join(folder, "_delta_log")
    for name in sorted(n for n in os.listdir(log) if n.endswith(".json")):
        for line in open(os.path.join(log, name)):
            action = json.loads(line)
            if "add" in action:
                files[action["add"]["path"]] = json.loads(action["add"]["stats"], parse_float=str)
            if "remove" in action:
                files.pop(action["remove"]["path"])
    return files.items()


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]))
else:
    check(sys.argv[2])
os._exit(0) if sys.stdout.flush() is None else None  # the extension's threads may abort an orderly exit
