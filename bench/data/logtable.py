"""Creates the log of a table without its data files, which loading a snapshot does not need.

usage: logtable.py DIRECTORY COMMITS FILES CHECKPOINT

Each commit adds FILES files with statistics of five columns. With CHECKPOINT 1
delta-rs checkpoints the last version.
"""

import json
import pathlib
import shutil
import sys

import deltalake

COLUMNS = [("l_orderkey", "long"), ("l_partkey", "long"), ("l_quantity", "decimal(15,2)"), ("l_shipdate", "date"), ("l_comment", "string")]


def schema() -> str:
    fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in COLUMNS]
    return json.dumps({"type": "struct", "fields": fields})


def add(i: int) -> dict:
    stats = {
        "numRecords": 1000,
        "minValues": {"l_orderkey": i * 1000, "l_partkey": i % 7919, "l_quantity": 1.0,
                      "l_shipdate": "1992-01-02", "l_comment": f" about the {i}"},
        "maxValues": {"l_orderkey": i * 1000 + 999, "l_partkey": 200000 - i % 7919, "l_quantity": 50.0,
                      "l_shipdate": "1998-12-01", "l_comment": f"zzle blithely {i}"},
        "nullCount": {name: 0 for name, _ in COLUMNS},
    }
    path = f"part-{i % 100000:05d}-3a0d65cd-4056-49b8-937b-{i * 2654435761 % (1 << 48):012x}-c000.snappy.parquet"
    return {"add": {
        "path": path, "partitionValues": {}, "size": 1_000_000 + i, "modificationTime": 1700000000000,
        "dataChange": True, "stats": json.dumps(stats, separators=(",", ":")),
    }}


def commit(version: int, files: int) -> str:
    lines = [{"commitInfo": {"timestamp": 1700000000000 + version, "operation": "WRITE",
                             "operationParameters": {"mode": "Append"}, "isBlindAppend": True}}]
    if version == 0:
        lines.append({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}})
        lines.append({"metaData": {
            "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9", "format": {"provider": "parquet", "options": {}},
            "schemaString": schema(), "partitionColumns": [], "configuration": {}, "createdTime": 1700000000000,
        }})
    lines += [add(version * files + i) for i in range(files)]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def main(directory: str, commits: str, files: str, checkpoint: str) -> None:
    target = pathlib.Path(directory)
    stamp = target / "complete.json"
    facts = {"layout": 1, "commits": int(commits), "files": int(files), "checkpoint": checkpoint}
    if stamp.exists() and json.loads(stamp.read_text()) == facts:
        return
    shutil.rmtree(target, ignore_errors=True)
    log = target / "_delta_log"
    log.mkdir(parents=True)
    for version in range(int(commits)):
        (log / f"{version:020d}.json").write_text(commit(version, int(files)))
    if checkpoint == "1":
        deltalake.DeltaTable(target).create_checkpoint()
    stamp.write_text(json.dumps(facts))


main(*sys.argv[1:])
