"""Row ids and commit versions by the protocol's section "Row Tracking", read with
pyarrow from the log and the data files. delta-rs reads deletion vectors only."""
import json
import os
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable


def actions(path):
    log = os.path.join(path, "_delta_log")
    for name in sorted(n for n in os.listdir(log) if n.endswith(".json") and n[:20].isdigit()):
        with open(os.path.join(log, name)) as f:
            for line in f:
                for kind, action in json.loads(line).items():
                    yield kind, action


def kept(path):
    """The numbers of the rows of a file that no deletion vector marks."""
    table = pa.table(DeltaTable(path).deletion_vectors().read_all()).to_pydict()
    files, kept = table.values()
    return {unquote(unquote(f)).rsplit("/", 1)[-1]: rows for f, rows in zip(files, kept)}


def identities(path, key="id"):
    live, mark, hidden, stored = {}, -1, None, key
    for kind, action in actions(path):
        if kind == "metaData":
            settings = action["configuration"]
            hidden = [settings[f"delta.rowTracking.materialized{name}ColumnName"] for name in ("RowId", "RowCommitVersion")]
            for field in json.loads(action["schemaString"])["fields"]:
                assert field["name"] not in hidden
                if field["name"] == key:
                    stored = field["metadata"].get("delta.columnMapping.physicalName", key)
        elif kind == "domainMetadata" and action["domain"] == "delta.rowTracking":
            mark = json.loads(action["configuration"])["rowIdHighWaterMark"]
        elif kind == "remove":
            del live[action["path"]]
        elif kind == "add":
            live[action["path"]] = action
        elif kind == "cdc":
            names = pq.ParquetFile(os.path.join(path, unquote(action["path"]))).schema_arrow.names
            assert not set(names) & set(hidden), "row ids in the feed of changes"
    visible = kept(path) if any("deletionVector" in a for a in live.values()) else {}
    rows, moved = [], 0
    for name, add in live.items():
        assert not any(column in add.get("stats", "") for column in hidden), "statistics of a hidden column"
        table = pq.ParquetFile(os.path.join(path, unquote(name))).read()
        ids, versions = ([None] * table.num_rows if column not in table.column_names else table[column].to_pylist() for column in hidden)
        moved += sum(v is not None for v in ids)
        stays = visible.get(os.path.basename(unquote(name)), [True] * table.num_rows)
        stays = stays + [True] * (table.num_rows - len(stays))
        for at, value in enumerate(table[stored].to_pylist()):
            if stays[at]:
                rows.append([value, add["baseRowId"] + at if ids[at] is None else ids[at],
                             add["defaultRowCommitVersion"] if versions[at] is None else versions[at]])
    return {"rows": rows, "mark": mark, "moved": moved}
