# Writes Delta tables below the directory of the first argument, with delta-rs.
import datetime as dt, decimal, math, os, random, sys
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

root = sys.argv[1]
rnd = random.Random(7)
N = 40

def some(f, nulls=0.15):
    return [None if rnd.random() < nulls else f() for _ in range(N)]

TEXTS = ["", "a", "it's", 'say "x"', "100%", "%41", "a b", "a/b", "été", "销售", "\\", "*", "?", "[a]", "{b}", "=", "a=b",
         "#", "&", "+", ";", "null", "NULL", "\t", "__HIVE_DEFAULT_PARTITION__", "..", "🦆"]
EPOCH = dt.datetime(1970, 1, 1)
text = lambda: rnd.choice(TEXTS)
moment = lambda: EPOCH + dt.timedelta(microseconds=rnd.randrange(-10**15, 4 * 10**15))
number = lambda bits: rnd.choice([0, 1, -1, 2**(bits - 1) - 1, -2**(bits - 1), rnd.randrange(-100, 100)])
real = lambda: rnd.choice([0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, 1e-30, rnd.uniform(-9, 9)])
# delta-rs writes wrong statistics of negative decimals with a fraction.
dec = lambda p, s: rnd.choice([decimal.Decimal(rnd.randrange(10**p)).scaleb(-s), -decimal.Decimal(rnd.randrange(10**(p - s)))])
UTC = pa.timestamp("us", tz="UTC")
point = pa.struct([("x", pa.int32()), ("label it", pa.string())])

SCALARS = {
    "b": (pa.bool_(), lambda: rnd.random() < 0.5),
    "i8": (pa.int8(), lambda: number(8)), "i16": (pa.int16(), lambda: number(16)),
    "i32": (pa.int32(), lambda: number(32)), "i64": (pa.int64(), lambda: number(64)),
    "f": (pa.float32(), real), "d": (pa.float64(), real),
    "dec9": (pa.decimal128(9, 2), lambda: dec(9, 2)), "dec38": (pa.decimal128(38, 10), lambda: dec(38, 10)),
    "s": (pa.string(), text), "bin": (pa.binary(), lambda: bytes(rnd.randrange(256) for _ in range(rnd.randrange(4)))),
    "day": (pa.date32(), lambda: moment().date()), "at": (UTC, moment), "naive": (pa.timestamp("us"), moment),
}
NESTED = {
    "st": (point, lambda: {"x": number(32), "label it": text()}),
    "li": (pa.list_(pa.int64()), lambda: [None, number(64)][: rnd.randrange(3)]),
    "ls": (pa.list_(point), lambda: [None, {"x": None, "label it": text()}][: rnd.randrange(3)]),
    "mp": (pa.map_(pa.string(), pa.float64()), lambda: [(k, real()) for k in rnd.sample(TEXTS, 2)]),
    "ms": (pa.map_(pa.string(), point), lambda: [("k", None), ("l", {"x": 1, "label it": None})][: rnd.randrange(3)]),
}

def column(kind, nulls=0.15):
    t, f = {**SCALARS, **NESTED}[kind]
    return pa.array(some(f, nulls), type=t)

def rows(kinds):
    return pa.table({k: column(k) for k in kinds})

def write(name, table, mode="append", **kw):
    write_deltalake(os.path.join(root, name), table, mode=mode, **kw)

every = [*SCALARS, *NESTED]
for _ in range(3):
    write("all types", rows(every))
    write("one file", rows(every), mode="overwrite")

# Texts that the name of a directory can contain only encoded, and NULL.
cut = pa.table({"s": pa.array(TEXTS[1:] + [None]), "n": pa.array(range(len(TEXTS)), pa.int64())})
write("by text", cut, partition_by=["s"])
write("few by text", cut.slice(0, 5), partition_by=["s"])
for kind in ["b", "i8", "i64", "dec9", "day", "at", "naive"]:
    t = rows(["i32", "s", kind]).slice(0, 12)
    write("by " + kind, t, partition_by=[kind])
write("by two", rows(["i32", "b", "day"]), partition_by=["b", "day"])
write("by two", rows(["i32", "b", "day"]), partition_by=["b", "day"])

# Columns that were added later, at the top level and inside a struct.
for name, by in [("grown", None), ("grown parts", ["b"])]:
    write(name, rows(["i32", "b"]), partition_by=by)
    write(name, rows(["i32", "b", "s", "st"]), schema_mode="merge", partition_by=by)
    write(name, rows(["s", "b", "i64", "i32"]), schema_mode="merge", partition_by=by)

write("empty", rows(every).slice(0, 0))
write("emptied", rows(["i32", "b"]), partition_by=["b"])
DeltaTable(os.path.join(root, "emptied")).delete()

# Names that have a meaning to readers of files.
for name, n in [("one odd", 1), ("odd names", 3)]:
    for _ in range(n):
        t = pa.table({"FileName": column("s"), "file_row_number": column("i32"), "file_index": column("i32"),
                      "q'u\"o te": column("i64"), "été": column("s"), "p": column("b")})
        write(name, t, partition_by=["p"])
t = pa.table({"filename": column("i8", 0), "v": column("i32")})
write("by filename", t, partition_by=["filename"])
os._exit(0)  # the extension's threads may abort an orderly exit
