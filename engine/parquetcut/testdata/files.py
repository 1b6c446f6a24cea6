"""Writes Parquet files for the tests of package parquetcut, and judges what was made of them.

files.py write FOLDER SEED COUNT   writes files with rows of every type and prints what they are
files.py judge FOLDER              reads [{"file", "cut", "from", "to"}, ...] and prints what differs
"""
import datetime, decimal, json, os, random, sys
import duckdb, pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq

TYPES = [
    pa.bool_(), pa.int8(), pa.int32(), pa.int64(), pa.uint32(), pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.binary(5),
    pa.decimal128(7, 2), pa.decimal128(15, 2), pa.decimal128(38, 10), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.time64("us"),
]


def value(r, t, few):
    n = r.randrange(few)
    if pa.types.is_boolean(t):
        return n % 3 == 0
    if pa.types.is_string(t):
        return "ü%d" % n * (n % 7)
    if t == pa.binary(5):
        return b"%05d" % (n % 100000)
    if pa.types.is_binary(t):
        return b"\x00%d" % n
    if pa.types.is_decimal(t):
        return decimal.Decimal(n % 9000 - 4500).scaleb(-t.scale)
    if t in (pa.int8(),):
        return n % 256 - 128
    if pa.types.is_date(t):
        return n % 90000 - 10000
    if pa.types.is_floating(t):
        return float(n) / 8 - 3
    return n


def column(r, t, rows):
    few = r.choice([1, 2, 30, 4000, 1 << 30])
    nulls = r.choice([0, 0, 0.01, 0.5, 1])
    runs = r.choice([1, 1, 40, 3000])
    out = []
    while len(out) < rows:
        v = None if r.random() < nulls else value(r, t, few)
        out += [v] * r.randint(1, runs)
    return pa.array(out[:rows], t)


def write(folder, seed, count):
    made = []
    for i in range(count):
        r = random.Random(seed * 1000 + i)
        rows = r.choice([1, 700, 20000, 30000, 60000])
        columns, fields = [], []
        for c in range(r.randint(1, 8)):
            a = column(r, r.choice(TYPES), rows)
            columns.append(a)
            fields.append(pa.field("c %d" % c, a.type, nullable=a.null_count > 0 or r.random() < 0.7))
        flat = r.random() < 0.85
        if not flat:
            lists = pa.array([[n] * (n % 4) if n % 5 else None for n in range(rows)], pa.list_(pa.int64()))
            columns.append(lists)
            fields.append(pa.field("l", lists.type))
        t = pa.Table.from_arrays(columns, schema=pa.schema(fields))
        name = "f%d.parquet" % i
        path = os.path.join(folder, name)
        if r.random() < 0.2:
            duckdb.connect().execute(f"COPY (SELECT * FROM t) TO '{path}' (FORMAT parquet, COMPRESSION {r.choice(['zstd', 'snappy', 'gzip'])}, "
                                     f"ROW_GROUP_SIZE {r.choice([2048, 122880])}, PARQUET_VERSION {r.choice(['V1', 'V2'])})")
            made.append({"name": name, "rows": rows, "pages": False})
            continue
        version, codec = r.choice(["1.0", "1.0", "1.0", "2.0"]), r.choice(["zstd", "zstd", "snappy", "gzip", "none", "brotli"])
        pq.write_table(
            t, path, row_group_size=r.choice([100, 5000, 1 << 20]) if rows > 100 else None, compression=codec,
            data_page_size=r.choice([100, 3000, 1 << 20]), write_batch_size=r.choice([7, 100, 1024]),
            use_dictionary=r.choice([True, True, False]), dictionary_pagesize_limit=r.choice([200, 1 << 20]),
            data_page_version=version, write_page_index=r.choice([True, False]), write_page_checksum=r.choice([True, False]),
        )
        # Booleans without a dictionary are runs in pages of version 2 only.
        made.append({"name": name, "rows": rows, "pages": flat and version == "1.0" and codec != "brotli"})
    json.dump(made, sys.stdout)


def least(column):
    """The statistics of a column of whole numbers or days, as it has them."""
    values = pc.drop_null(column).cast(pa.int32() if pa.types.is_date(column.type) else column.type).to_pylist()
    return (min(values) if values else None, max(values) if values else None, column.null_count)


def misstated(want, meta, before, bounds):
    """Says what statistics are wrong, and which are missing."""
    bounds = {b["Column"]: (b["Min"], b["Max"], b["Nulls"]) for b in bounds}
    if any(pa.types.is_nested(field.type) for field in want.schema):
        return  # columns have other numbers in the footer
    for i, field in enumerate(want.schema):
        whole = pa.types.is_signed_integer(field.type) or pa.types.is_date(field.type)
        exact = least(want[field.name]) if whole else None
        if field.name in bounds and bounds[field.name] != exact:
            yield "bounds of %s are %s, not %s" % (field.name, bounds[field.name], exact)
        said = [before.row_group(g).column(i) for g in range(before.num_row_groups)]
        if whole and field.name not in bounds and all(c.has_column_index for c in said):
            yield "%s has no bounds" % field.name
        at = 0
        for g in range(meta.num_row_groups):
            part = want[field.name].slice(at, meta.row_group(g).num_rows)
            at += meta.row_group(g).num_rows
            s = meta.row_group(g).column(i).statistics
            if whole and s is not None:
                days = lambda v: (v - datetime.date(1970, 1, 1)).days if isinstance(v, datetime.date) else v
                got = (days(s.min) if s.has_min_max else None, days(s.max) if s.has_min_max else None, s.null_count)
                if got != least(part):
                    yield "statistics of %s in row group %d are %s, not %s" % (field.name, g, got, least(part))


def judge(folder):
    con, wrong = duckdb.connect(), []
    for c in json.load(sys.stdin):
        source, cut = os.path.join(folder, c["file"]), os.path.join(folder, c["cut"])
        t = pq.read_table(source)
        want = pa.concat_tables([t[: c["from"]], t[c["to"]:]])
        try:
            got = pq.read_table(cut, page_checksum_verification=True)
            if not got.equals(want):
                wrong.append("%s: other rows than of %s without %d to %d" % (c["cut"], c["file"], c["from"], c["to"]))
            meta = pq.read_metadata(cut)
            for g in range(meta.num_row_groups):
                group = meta.row_group(g)
                total = sum(group.column(i).total_uncompressed_size for i in range(group.num_columns))
                if group.total_byte_size != total:
                    wrong.append("%s: row group %d has %d bytes, its columns %d" % (c["cut"], g, group.total_byte_size, total))
            wrong += ["%s: %s" % (c["cut"], w) for w in misstated(want, meta, pq.read_metadata(source), c["bounds"] or [])]
            n = con.execute(f"SELECT count(*) FROM ((FROM '{cut}') EXCEPT ALL (FROM t SELECT * LIMIT 0))").fetchone()[0]
            left = con.execute(f"SELECT count(*) FROM ((FROM want) EXCEPT ALL (FROM '{cut}'))").fetchone()[0]
            if n != want.num_rows or left:
                wrong.append("%s: DuckDB reads %d rows, of %d, and misses %d" % (c["cut"], n, want.num_rows, left))
        except Exception as e:
            wrong.append("%s from %s without %d to %d: %s" % (c["cut"], c["file"], c["from"], c["to"], e))
    json.dump(wrong, sys.stdout)


if sys.argv[1] == "write":
    write(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
else:
    judge(sys.argv[2])
