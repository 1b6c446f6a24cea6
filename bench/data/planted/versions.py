"""Versions of two tables, with inserted, deleted and updated rows, and their differences.

ledger has a primary key; journal has none, and repeated rows. The truth has `differences`: two versions of a table, and the numbers
of rows. Those of the journal are differences of multisets.
"""

import collections
import datetime
import math

SCHEMA = [
    ("id", pa.int64()), ("account", pa.string()), ("amount", pa.float64()), ("count", pa.int32()), ("settled", pa.bool_()),
    ("day", pa.date32()), ("note", pa.string()),
]
STEPS = 4


def entry(draw: random.Random, i: int) -> tuple:
    return (
        i, f"A{draw.randint(1, 60):03}", draw.choice([float("nan"), None] + [round(draw.uniform(-900, 900), 2)] * 12),
        draw.choice([None, draw.randint(0, 9), draw.randint(0, 9)]), draw.choice([True, False, None]),
        datetime.date(2024, 1, 1) + datetime.timedelta(days=draw.randrange(200)), draw.choice([None, "", "ok", f"ref {i}"]),
    )


def plain(row: tuple) -> tuple:
    """The row with a value for NaN that equals itself."""
    return tuple("NaN" if isinstance(v, float) and math.isnan(v) else v for v in row)


def changed(draw: random.Random, row: tuple) -> tuple:
    """The row with another value in one to three columns, which may turn into NULL or NaN, or back."""
    for _ in range(100):
        other, new = entry(draw, row[0]), list(row)
        for at in draw.sample(range(1, len(SCHEMA)), draw.randint(1, 3)):
            new[at] = other[at]
        if plain(tuple(new)) != plain(row):
            return tuple(new)
    raise AssertionError("no change found")


def next_version(draw: random.Random, rows: list, free: int) -> tuple[list, int]:
    """The rows after random changes: some go, some change, some are rewritten unchanged, some come; in another order."""
    out = []
    for row in rows:
        chance = draw.random()
        if chance > 0.05:
            out.append(changed(draw, row) if chance < 0.15 else row)
    for _ in range(len(rows) // 20 + draw.randint(1, 40)):
        out.append(entry(draw, free))
        free += 1
    draw.shuffle(out)
    return out, free


def by_key(before: list, after: list) -> dict:
    old, new = ({row[0]: plain(row) for row in rows} for rows in (before, after))
    same = old.keys() & new.keys()
    updated = sum(old[i] != new[i] for i in same)
    return {"inserted": len(new.keys() - old.keys()), "deleted": len(old.keys() - new.keys()), "updated": updated,
            "unchanged": len(same) - updated, "rowsBefore": len(before), "rowsAfter": len(after)}


def by_row(before: list, after: list) -> dict:
    old, new = (collections.Counter(plain(row) for row in rows) for rows in (before, after))
    return {"inserted": (new - old).total(), "deleted": (old - new).total(), "updated": 0, "unchanged": (old & new).total(),
            "rowsBefore": len(before), "rowsAfter": len(after)}


def versions() -> None:
    folder = Folder(*sys.argv[1:])
    draw, differences = folder.random, []
    for table, compare in (("ledger", by_key), ("journal", by_row)):
        rows = [entry(draw, i) for i in range(1, folder.rows + 1)]
        columns = slice(0 if table == "ledger" else 3, None)  # without id, account and amount, rows repeat
        history, free = [], folder.rows + 1
        for _ in range(STEPS):
            history.append([row[columns] for row in rows])
            folder.records(table, SCHEMA[columns], history[-1], ["id"] if table == "ledger" else None)
            rows, free = next_version(draw, rows, free)
        for old in range(STEPS):
            for new in range(old + 1, STEPS):
                differences.append({"table": table, "from": old, "to": new, **compare(history[old], history[new])})
    folder.finish(differences=differences)


versions()
