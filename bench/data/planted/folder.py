"""What the generators of planted tables share: where tables and the truth about them go.

Each generator is this file followed by its own, and is called with DIRECTORY ROWS SEED. It writes Delta tables below DIRECTORY and
the truth to DIRECTORY.json, unless they exist. The truth has `keys`, the primary keys by table.
"""

import json
import pathlib
import random
import shutil
import sys

from deltalake import WriterProperties, write_deltalake
import pyarrow as pa

FILE_ROWS = 250_000
LAYOUT = 1


class Folder:
    """A folder of tables, made from a number of rows and a seed."""

    def __init__(self, directory: str, rows: str, seed: str) -> None:
        self.path, self.rows, self.seed = pathlib.Path(directory), int(rows), int(seed)
        self.truth = {"layout": LAYOUT, "rows": self.rows, "seed": self.seed, "keys": {}}
        self.random = random.Random(self.seed)
        self.stamp = pathlib.Path(directory + ".json")
        if self.stamp.exists() and json.loads(self.stamp.read_text())["layout"] == LAYOUT:
            sys.exit(0)
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir(parents=True)

    def table(self, name: str, rows: pa.Table, key: list | None = None) -> None:
        """Writes the next version of a table: its rows are these."""
        properties = WriterProperties(compression="ZSTD", compression_level=3)
        for at in range(0, max(1, rows.num_rows), FILE_ROWS):
            mode = "overwrite" if at == 0 else "append"
            write_deltalake(self.path / name, rows.slice(at, FILE_ROWS), mode=mode, writer_properties=properties)
        if key:
            self.truth["keys"][name] = key

    def records(self, name: str, schema: list, rows: list, key: list | None = None) -> None:
        """Writes a table from a list of tuples."""
        self.table(name, arrow(schema, rows), key)

    def finish(self, **truth) -> None:
        """Writes the truth, last."""
        part = self.stamp.with_suffix(".part")
        part.write_text(json.dumps(self.truth | truth))
        part.rename(self.stamp)


def arrow(schema: list, rows: list) -> pa.Table:
    """Makes a table from (name, type) pairs and a list of tuples."""
    columns = list(zip(*rows)) if rows else [()] * len(schema)
    return pa.table([pa.array(list(c), t) for (_, t), c in zip(schema, columns)], names=[n for n, _ in schema])


def cumulative(n: int, exponent: float) -> list:
    """Weights of the ranks 1 to n by Zipf's law, added up for random.choices."""
    total, out = 0.0, []
    for rank in range(1, n + 1):
        total += rank**-exponent
        out.append(total)
    return out
