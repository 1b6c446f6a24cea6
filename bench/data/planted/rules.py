"""Tables whose rows obey rules with a few exceptions, in columns of many types, some with odd names.

What is suggested is judged by judge.py; the truth holds nothing but the names of the tables.
"""

import datetime
import decimal

TEXT, INT, FLOAT, BOOL, DATE, STAMP = pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("us", "UTC")
MONEY = pa.decimal128(12, 2)
START = datetime.datetime(2023, 3, 1, tzinfo=datetime.timezone.utc)


def money(x: float) -> decimal.Decimal:
    return decimal.Decimal(round(x * 100)).scaleb(-2)


def reading(d: random.Random, i: int) -> tuple:
    low = d.gauss(8, 6)
    humidity = d.uniform(12, 98) if d.random() > 0.002 else d.choice([-4.0, 131.5, float("nan")])
    value = float("nan") if d.random() < 0.004 else None if d.random() < 0.02 else d.gauss(20, 3)
    high = low + d.expovariate(0.3) if d.random() > 0.002 else low - 2
    return (
        i + 1, f"S-{d.randint(1, 400):03}" if d.random() > 0.001 else "s12", value, low, high, humidity,
        d.choice(["C", "C", "F", "K"]) if d.random() > 0.001 else "c", START + datetime.timedelta(seconds=137 * i),
    )


def invoice(d: random.Random, i: int) -> tuple:
    net, begin = money(d.lognormvariate(5, 1.2)), datetime.date(2022, 1, 1) + datetime.timedelta(days=d.randrange(900))
    tax = money(float(net) * d.choice([0.07, 0.19]))
    gross = net + tax if d.random() > 0.003 else net
    end = begin + datetime.timedelta(days=d.choice([14, 30, 30, 60]) if d.random() > 0.002 else -3)
    status = d.choice(["open", "paid", "paid", "overdue", "cancelled"]) if d.random() > 0.002 else "PAID!"
    return f"RE-{2022 + i % 3}-{i:06}", net, tax, gross, begin, end, status, d.randint(1, 40) if d.random() > 0.1 else None


def odd(d: random.Random, i: int) -> tuple:
    return (
        d.randint(0, 100), d.choice(["it's", 'say "hi"', "back\\slash", "per%cent", "größe"]), d.choice(["ä", "ö", "ü"]), None, 7,
        "" if d.random() < 0.003 else f"{d.choice('XYZ')}{d.randint(10, 99)}/{d.choice(['a', 'b'])}", d.random() < 0.5,
        "x" * d.randint(190, 320) if d.random() < 0.01 else f"line {i}\nnext", float(d.randint(-5, 5)) / 4,
    )


TABLES = {
    "readings": (
        ["id", "sensor", "value", "low", "high", "humidity", "unit", "taken"], [INT, TEXT, FLOAT, FLOAT, FLOAT, FLOAT, TEXT, STAMP], reading,
    ),
    "invoices": (
        ["number", "net", "tax", "gross", "begin", "end", "status", "days"], [TEXT, MONEY, MONEY, MONEY, DATE, DATE, TEXT, INT], invoice,
    ),
    "odd": (
        ['per "cent"', "select", "größe in cm", "nothing", "constant", "a.b", "Is It", "long text", "eighth's"],
        [INT, TEXT, TEXT, TEXT, INT, TEXT, BOOL, TEXT, FLOAT], odd,
    ),
}


def rules() -> None:
    folder = Folder(*sys.argv[1:])
    for name, (columns, types, make) in TABLES.items():
        folder.records(name, list(zip(columns, types)), [make(folder.random, i) for i in range(folder.rows)])
    folder.finish(tables=list(TABLES))


rules()
