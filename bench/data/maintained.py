"""Tables for the workloads of maintenance, and delta-rs as their peer.

usage: maintained.py make DIRECTORY KIND FILES LINEITEM
       maintained.py copy TEMPLATE DIRECTORY
       maintained.py run DIRECTORY OPERATION

make writes a table: KIND lineitem is the table LINEITEM in FILES small files,
KIND orphans a small table with FILES old files that no version names. run does
the work and prints one JSON line: seconds, files added or deleted, files
removed, by how many bytes the process grew at its peak, and the processor time
of all its threads.
"""

import json
import os
import pathlib
import shutil
import sys
import time

from deltalake import DeltaTable, WriterProperties, write_deltalake
import pyarrow as pa


def make(directory: str, kind: str, files: str, lineitem: str) -> None:
    target = pathlib.Path(directory)
    stamp = target.with_suffix(".json")
    facts = {"layout": 1, "kind": kind, "files": int(files)}
    if stamp.exists() and json.loads(stamp.read_text()) == facts:
        return
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    if kind == "lineitem":
        rows = pa.table(DeltaTable(lineitem).to_pyarrow_table()).combine_chunks()
        part = -(-rows.num_rows // int(files))
        properties = WriterProperties(compression="ZSTD", compression_level=3)
        for at in range(0, rows.num_rows, part):
            write_deltalake(target, rows.slice(at, part), mode="append", writer_properties=properties)
    else:
        write_deltalake(target, pa.table({"id": pa.array([1], pa.int64())}))
        month = time.time() - 30 * 24 * 3600
        for i in range(int(files)):
            orphan = target / f"part-{i:06}-0e9c7a52-7f05-4a39-ae0c-7a1d4b0a2f6e-c000.zstd.parquet"
            orphan.touch()
            os.utime(orphan, (month, month))
    stamp.write_text(json.dumps(facts))


def copy(template: str, directory: str) -> None:
    """Copies a table with links to its data files, which never change."""
    shutil.copytree(template, directory, copy_function=os.link)


def status(key: str) -> int:
    with open("/proc/self/status") as facts:
        return int(next(line for line in facts if line.startswith(key)).split()[1]) << 10


def run(directory: str, operation: str) -> None:
    properties = WriterProperties(compression="ZSTD", compression_level=3)
    before = status("VmRSS")
    worked = time.process_time()
    start = time.perf_counter()
    table = DeltaTable(directory)
    if operation == "compact":
        done = table.optimize.compact(writer_properties=properties)
    elif operation == "zorder":
        done = table.optimize.z_order(["l_partkey", "l_suppkey"], writer_properties=properties)
    else:
        done = {"numFilesAdded": 0, "numFilesRemoved": len(table.vacuum(dry_run=True, full=True))}
    seconds = time.perf_counter() - start
    worked = time.process_time() - worked
    print(json.dumps({
        "seconds": seconds, "added": done["numFilesAdded"], "removed": done["numFilesRemoved"],
        "grown": status("VmHWM") - before, "cpu": worked,
    }), flush=True)
    os._exit(0)  # the extension's threads may abort an orderly exit


{"make": make, "copy": copy, "run": run}[sys.argv[1]](*sys.argv[2:])
