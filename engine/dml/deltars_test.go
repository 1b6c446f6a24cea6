package dml_test

// deltaRSScript has the functions that delta-rs answers requests with.
const deltaRSScript = `
import json, os, sys
from deltalake import DeltaTable, QueryBuilder, write_deltalake
import pyarrow as pa
def text(table, kind=False):
    out = []
    for r in table.to_pylist():
        st = r.get("st")
        cells = [r["id"], r["v"], r["p"], None if st is None else st["x"], None if st is None or st["l"] is None else len(st["l"])]
        out.append(("%s " % r["_change_type"] if kind else "") + "|".join("~" if c is None else str(c) for c in cells))
    return sorted(out)
def rows(path):
    return text(pa.table(QueryBuilder().register("t", DeltaTable(path)).execute("SELECT * FROM t").read_all()))
def feed(path, version):
    return text(pa.table(DeltaTable(path).load_cdf(starting_version=version, ending_version=version).read_all()), True)
def append(path, id, v, p):
    columns = {"id": pa.array([id], pa.int64()), "v": pa.array([v], pa.string()), "p": pa.array([p], pa.string())}
    write_deltalake(path, pa.table(columns), mode="append")
    return 0
sys.path.append(os.path.join("..", "datafile", "testdata"))
from identities import identities
`
