"""The flights of a Parquet file with planted defects.

usage of the whole script: DIRECTORY ROWS SEED PARQUET

ROWS is the number of defects of each kind. The truth has `defects`: the kind, the id of the row, and the columns that may be blamed.
"""

import datetime

import duckdb

UTC = datetime.timezone.utc
PLANE = ["N0000?", "12345", "N-104UW", "TBA1", "n10575", "N1 0156", "XX-ABC"]


def exchanged(draw: random.Random, text: str) -> str:
    """The text with two different neighbours exchanged."""
    at = draw.choice([i for i in range(len(text) - 1) if text[i] != text[i + 1]])
    return text[:at] + text[at + 1] + text[at] + text[at + 2:]


KINDS = {
    # kind: (column, other columns that may be blamed, the wrong value from the row and a generator)
    "negative distance": ("distance", [], lambda row, draw: -row["distance"]),
    "distance in another unit": ("distance", [], lambda row, draw: row["distance"] * 1609),
    "distance of another route": ("distance", ["origin", "dest"],
                                  lambda row, draw: row["distance"] + draw.choice([-1, 1]) * draw.randint(9, 16)),
    "time of the day that does not exist": ("dep_time", [], lambda row, draw: draw.choice([2575, 2890, 3359, 4005, 7777])),
    "scheduled time that does not exist": ("sched_arr_time", [], lambda row, draw: draw.choice([-1, 2960, 5555, 9999])),
    "air time of seconds": ("air_time", [], lambda row, draw: row["air_time"] * 60),
    "delay that means none": ("arr_delay", [], lambda row, draw: draw.choice([99999, -99999])),
    "month": ("month", ["time_hour"], lambda row, draw: draw.choice([0, 13, 14, 99])),
    "day": ("day", ["time_hour"], lambda row, draw: draw.choice([0, 32, 45, 310])),
    "year": ("year", ["time_hour"], lambda row, draw: draw.choice([13, 213, 1913, 2031])),
    "hour that differs from the schedule": ("hour", ["sched_dep_time", "minute", "time_hour"],
                                            lambda row, draw: (row["hour"] + draw.randint(3, 9)) % 24),
    "minute": ("minute", ["sched_dep_time", "hour"], lambda row, draw: draw.choice([61, 75, 88, 99])),
    "carrier": ("carrier", [], lambda row, draw: draw.choice(["?" + row["carrier"][0], row["carrier"].lower() + "!", "U  A", "Q$9"])),
    "origin with a slip": ("origin", [], lambda row, draw: exchanged(draw, row["origin"])),
    "destination in lower case": ("dest", [], lambda row, draw: row["dest"].lower()),
    "plane": ("tailnum", [], lambda row, draw: draw.choice(PLANE)),
    "moment": ("time_hour", ["year", "month", "day", "hour"],
               lambda row, draw: datetime.datetime(draw.choice([1970, 1899, 2099]), 1, draw.randint(1, 28), tzinfo=UTC)),
}


def defects() -> None:
    folder = Folder(*sys.argv[1:4])
    draw = folder.random
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    con.execute("SET TimeZone = 'UTC'")
    rows = con.sql(f"SELECT row_number() OVER () AS id, * FROM '{sys.argv[4]}'").to_arrow_table()
    complete = con.sql("SELECT id FROM rows WHERE air_time IS NOT NULL AND tailnum IS NOT NULL").fetchall()
    chosen = draw.sample([i for (i,) in complete], len(KINDS) * folder.rows)
    changes, planted = {}, []
    for n, kind in enumerate(KINDS):
        column, others, change = KINDS[kind]
        for i in chosen[n * folder.rows:(n + 1) * folder.rows]:
            row = {k: v[0] for k, v in rows.slice(i - 1, 1).to_pydict().items()}
            changes.setdefault(column, {})[i - 1] = change(row, draw)
            planted.append({"kind": kind, "row": i, "columns": [column] + others})
    for column, cells in changes.items():
        values = rows.column(column).to_pylist()
        for at, value in cells.items():
            values[at] = value
        at = rows.schema.get_field_index(column)
        rows = rows.set_column(at, column, pa.array(values, rows.schema.field(column).type))
    folder.table("flights", rows, ["id"])
    folder.finish(defects=planted)


defects()
