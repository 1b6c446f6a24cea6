"""Writes tables with delta-rs below argv[1]: one partitioned under names that
need escaping, with a checkpoint in the middle of its log, and one plain."""

import sys

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

root = sys.argv[1]
for batch in range(12):
    ids = list(range(batch * 1000, (batch + 1) * 1000))
    rows = pa.table({
        "id": pa.array(ids, pa.int64()),
        "part": pa.array([f"p {i % 3}/=%é" for i in ids]),
        "text": pa.array([f"row {i} " + "x" * (i % 50) for i in ids]),
    })
    write_deltalake(root + "/nested/t=1", rows, mode="append", partition_by=["part"])
    write_deltalake(root + "/plain", rows, mode="append")
    write_deltalake(root + "/other", rows.slice(0, 1), mode="append")
    if batch == 7:
        DeltaTable(root + "/nested/t=1").create_checkpoint()
