"""Contracts of customers, with 22 planted values that stand for a missing one.

The truth has `placeholders`: the table, the column and the value as text.
"""

import datetime

PLANTED = [
    ("customer", "N/A"), ("customer", "unknown"), ("customer", "-"), ("email", "none@none.com"), ("email", ""),
    ("phone", "000-000-0000"), ("phone", "999-999-9999"), ("city", "TBD"), ("city", "?"), ("city", "null"), ("country", "--"),
    ("country", "not specified"), ("postal_code", "00000"), ("occupation", "None"), ("occupation", "#N/A"), ("occupation", "   "),
    ("quantity", -999), ("age", 999), ("temperature", -9999.0), ("birth_date", datetime.date(1900, 1, 1)),
    ("contract_end", datetime.date(9999, 12, 31)), ("created_at", datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)),
]
SCHEMA = [
    ("id", pa.int64()), ("customer", pa.string()), ("email", pa.string()), ("phone", pa.string()), ("city", pa.string()),
    ("country", pa.string()), ("postal_code", pa.string()), ("occupation", pa.string()), ("quantity", pa.int32()), ("age", pa.int32()),
    ("temperature", pa.float64()), ("birth_date", pa.date32()), ("contract_end", pa.date32()), ("created_at", pa.timestamp("us", "UTC")),
]
FORENAMES = "Anneliese Bartosz Chidi Delphine Emre Farida Gintaras Hedda Ivana Jorge Kenji Lubna Marisol Nikolai Odalys Petra".split()
FAMILIES = "Abernathy Bjarnason Castellano Dvorak Eriksen Fontaine Grzybowski Haverford Ibarra Jankowski Kovalenko Lindqvist Moreau".split()
PLACES = "Aarhus Bilbao Coimbra Dundee Eindhoven Freiburg Gdynia Haarlem Izmir Jaffa Kaunas Leuven Malmo Nantes Odense Plovdiv".split()
LANDS = "Austria Belgium Denmark Estonia Finland Ireland Latvia Malta Norway Poland".split()
TRADES = "baker carpenter dentist electrician florist glazier joiner librarian mason nurse optician plumber roofer surveyor tailor".split()


def contract(draw: random.Random, i: int) -> list:
    forename, family = draw.choice(FORENAMES), draw.choice(FAMILIES)
    begin = datetime.date(2015, 1, 1) + datetime.timedelta(days=draw.randrange(3000))
    return [
        i, f"{forename} {family}", f"{forename}.{family}{draw.randint(1, 999)}@mail{draw.randint(1, 9)}.example".lower(),
        f"{draw.randint(201, 889)}-{draw.randint(200, 889)}-{draw.randint(1000, 9899)}", draw.choice(PLACES), draw.choice(LANDS),
        f"{draw.randint(10000, 89999)}", draw.choice(TRADES), 1 + int(draw.expovariate(0.05)), draw.randint(18, 88),
        round(draw.gauss(14, 7), 1), datetime.date(1930, 1, 1) + datetime.timedelta(days=draw.randrange(27000)),
        begin + datetime.timedelta(days=draw.randrange(365, 2000)),
        datetime.datetime.combine(begin, datetime.time(draw.randrange(24), draw.randrange(60)), datetime.timezone.utc),
    ]


def placeholders() -> None:
    folder = Folder(*sys.argv[1:])
    draw = folder.random
    names = [name for name, _ in SCHEMA]
    rows = [contract(draw, i + 1) for i in range(folder.rows)]
    for column, value in PLANTED:
        at = names.index(column)
        for row in draw.sample(rows, max(3, round(folder.rows * draw.uniform(0.01, 0.03)))):
            row[at] = value
    for value in PLANTED:  # a later one may have replaced all of an earlier one
        assert any(row[names.index(value[0])] == value[1] for row in rows), value
    folder.records("contracts", SCHEMA, rows, ["id"])
    folder.finish(placeholders=[{"table": "contracts", "column": c, "value": str(v)} for c, v in PLANTED])


placeholders()
