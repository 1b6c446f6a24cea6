"""Twenty tables without defects, from twenty domains.

usage of the whole script: DIRECTORY ROWS SEED WHOLE

ROWS is the number of rows of each table below DIRECTORY: a random tenth of the rows of the table below WHOLE, which judges whether
a suggested rule holds. The truth has `tables`.
"""

import datetime
import decimal

TEXT, INT, FLOAT, BOOL, DATE, STAMP = pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("us", "UTC")
MONEY = pa.decimal128(12, 2)
FORENAMES = """
    Adele Boris Cecilia Dario Eleni Fabio Gwen Hakan Ines Jakub Kaisa Leon Mirela Nils Orla Pavel Ramona Stellan
    Teresa Ulrich Vera Wim
""".split()
FAMILIES = """
    Adler Bonnet Cortes Dalgaard Esposito Falk Grimaldi Holub Innes Jaworski Kruger Lefebvre Madsen Neri Ortega Pavlik Quint Rasmussen
    Soler Tanner Ulloa Vasquez Wendt Ximenes Young Zeman
""".split()
TOWNS = """
    Avila Bremen Chester Drammen Evora Fulda Gorzow Halmstad Imola Jihlava Kassel Lecce Metz Narvik Opava Perth
    Ravenna Sligo Tarnow Uppsala
""".split()


def money(x: float) -> decimal.Decimal:
    return decimal.Decimal(round(x * 100)).scaleb(-2)


def day(d: random.Random, year: int = 2024, days: int = 365) -> datetime.date:
    return datetime.date(year, 1, 1) + datetime.timedelta(days=d.randrange(days))


def moment(d: random.Random, year: int = 2024) -> datetime.datetime:
    return datetime.datetime.combine(day(d, year), datetime.time(d.randrange(24), d.randrange(60), d.randrange(60)), datetime.timezone.utc)


def after(d: random.Random, begin: datetime.datetime, hours: float) -> datetime.datetime:
    return begin + datetime.timedelta(seconds=round(d.expovariate(1 / hours) * 3600) + 60)


def maybe(d: random.Random, share: float, value):
    return value if d.random() < share else None


def person(d: random.Random) -> str:
    return f"{d.choice(FORENAMES)} {d.choice(FAMILIES)}"


def orders(d, i):
    ordered, quantity, price = moment(d), 1 + int(d.expovariate(0.4)), money(d.lognormvariate(3, 0.8))
    return (i, d.randint(1, 9000), ordered, maybe(d, 0.9, after(d, ordered, 40)), quantity, price, quantity * price,
            d.choices(["new", "packed", "shipped", "returned"], [1, 2, 9, 1])[0])


def sensors(d, i):
    taken = datetime.datetime(2024, 5, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(minutes=i // 40)
    return f"T{i % 40:02}", taken, round(d.gauss(21, 2.5), 2), round(d.gauss(45, 6), 1), d.randint(60, 100)


def staff(d, i):
    first, last = d.choice(FORENAMES), d.choice(FAMILIES)
    return (i, first, last, f"{first}.{last}.{i}@firm.example".lower(), d.choice(["Sales", "Finance", "Research", "Legal", "Operations"]),
            day(d, 2005, 7000), d.randrange(28000, 98000, 250), maybe(d, 0.85, d.randint(1, 300)))


def inventory(d, i):
    part = f"{d.choice(['bolt', 'nut', 'washer', 'bracket', 'hinge', 'screw'])} M{d.choice([3, 4, 5, 6, 8, 10, 12])}"
    shelf = f"{d.choice('NSEW')}-{d.randint(1, 30):02}-{d.randint(1, 6)}"
    return f"{d.choice('ABCD')}{i:06}", part, int(d.expovariate(0.004)), d.choice([25, 50, 100, 250]), shelf, money(d.lognormvariate(0, 1))


def log_events(d, i):
    message = d.choice(["request served", "cache refreshed", "session opened", "session closed", "retry scheduled"])
    return (moment(d), d.choices(["INFO", "DEBUG", "WARN", "ERROR"], [70, 20, 8, 2])[0], d.choice(["auth", "billing", "search", "mail"]),
            message, round(d.lognormvariate(2, 1), 3), f"{d.getrandbits(64):016x}")


def prices(d, i):
    low = d.lognormvariate(4, 0.5)
    high = low * d.uniform(1, 1.05)
    return (f"{d.choice('PQRST')}{d.choice('LMN')}{d.choice('XYZ')}", day(d), round(d.uniform(low, high), 4), round(high, 4) + 0.0001,
            round(low, 4) - 0.0001, int(d.lognormvariate(11, 1)))


def survey(d, i):
    return (i, moment(d), d.randint(18, 84), d.choice(["urban", "suburban", "rural"]), d.randint(1, 5), d.randint(1, 5),
            maybe(d, 0.7, d.randint(0, 10)),
            maybe(d, 0.3, d.choice(["too expensive", "friendly staff", "long queues", "good choice", "hard to find", "clean"])))


def schools(d, i):
    pupils, town = d.randint(90, 1400), d.choice(TOWNS)
    return (100000 + i, f"{d.choice(FAMILIES)} {d.choice(['Primary', 'Secondary', 'Grammar'])} School {town}", town, pupils,
            max(6, round(pupils / d.uniform(9, 18))), d.randint(1850, 2015), d.random() < 0.15)


def weather(d, i):
    low = d.gauss(7, 7)
    return (d.choice(TOWNS), day(d, 2020, 1400), round(low, 1), round(low + d.uniform(1, 14), 1), round(max(0, d.gauss(-1, 5)), 1),
            d.randint(0, 359), round(d.gauss(1013, 9), 1), maybe(d, 0.6, d.randint(0, 8)))


def bank(d, i):
    amount = money(d.choice([-1, -1, -1, 1]) * d.lognormvariate(4, 1.1))
    return (f"{i:010}", f"AC{d.randint(10**7, 10**8 - 1)}", moment(d), amount, "credit" if amount > 0 else "debit",
            d.choice(["EUR", "EUR", "EUR", "CHF"]), f"{d.choice(['rent', 'salary', 'groceries', 'fuel', 'insurance', 'dining'])} {d.randint(1000, 99999)}")


def loans(d, i):
    out = day(d)
    return (i, 40000 + d.randint(0, 8000), d.randint(1, 2500), out, out + datetime.timedelta(days=28),
            maybe(d, 0.8, out + datetime.timedelta(days=d.randint(1, 45))), d.randint(0, 2))


def matches(d, i):
    home, away = d.sample(TOWNS, 2)
    goals = [min(9, int(d.expovariate(0.7))) for _ in range(2)]
    return i, day(d, 2019, 1800), f"FC {home}", f"FC {away}", *goals, max(1000, int(d.gauss(21000, 6000)))


def foods(d, i):
    fat, carbs, protein = d.uniform(0, 30), d.uniform(0, 60), d.uniform(0, 25)
    name = f"{d.choice(['roasted', 'fresh', 'smoked', 'dried', 'pickled'])} {d.choice(['beans', 'salmon', 'figs', 'peppers', 'ham', 'plums'])}"
    return (i, f"{name} no. {i}", round(fat, 1), round(carbs, 1), round(protein, 1), round(9 * fat + 4 * carbs + 4 * protein), d.random() < 0.3)


def homes(d, i):
    rooms = d.choices([1, 2, 3, 4, 5, 6], [8, 20, 30, 24, 12, 6])[0]
    area = round(rooms * d.gauss(26, 4) + 12, 1)
    return (i, d.choice(TOWNS), f"{d.randint(10000, 99999)}", rooms, area, round(area * d.lognormvariate(8, 0.3), -3),
            maybe(d, 0.8, d.randint(1890, 2023)), d.choice(["A", "B", "C", "D", "E", "F", "G"]))


def trips(d, i):
    begin, km = moment(d), round(d.lognormvariate(1.4, 0.7), 2)
    return (begin, begin + datetime.timedelta(seconds=int(km * d.uniform(100, 200)) + 30), d.randint(1, 265), d.randint(1, 265),
            d.choices([1, 2, 3, 4], [70, 18, 7, 5])[0], km, money(3 + 2.1 * km), money(max(0, d.gauss(1.5, 1.5))), d.choice(["card", "cash", "card"]))


def visits(d, i):
    reason = d.choice(["check-up", "follow-up", "emergency", "vaccination"])
    return (i, 500000 + d.randint(0, 6000), day(d, 2022, 900), reason, maybe(d, 0.9, d.randint(95, 165)),
            maybe(d, 0.9, d.randint(55, 94)), round(d.gauss(36.8, 0.3), 1), f"{d.choice('EFGJKM')}{d.randint(0, 99):02}")


def meters(d, i):
    start = int(d.uniform(1000, 60000))
    return f"EM{d.randint(10**6, 10**7 - 1)}", day(d), start, start + int(d.gammavariate(4, 20)), d.choice(["day", "night"]), d.random() < 0.02


def tickets(d, i):
    opened = moment(d)
    return (f"T-{i}", opened, maybe(d, 0.75, after(d, opened, 60)), d.choices(["low", "normal", "high", "urgent"], [3, 10, 4, 1])[0], person(d),
            d.choice(["login fails", "invoice wrong", "slow page", "export stuck", "new user needed", "mail bounces"]),
            maybe(d, 0.5, d.randint(1, 5)))


def species(d, i):
    genus, epithet = d.choice(["Acer", "Betula", "Carex", "Draba", "Erica", "Festuca"]), d.choice(["alba", "montana", "repens", "glabra"])
    return (i, f"{genus} {epithet}", round(d.uniform(46, 55), 5), round(d.uniform(6, 15), 5), 1 + int(d.expovariate(0.2)), day(d, 2021, 1000),
            person(d))



def containers(d, i):
    tare = d.choice([2200, 2300, 3700, 3900])
    net = d.randint(1000, 24000)
    return (f"{d.choice(['MSKU', 'TGHU', 'HLXU'])}{i:07}", d.choice(["20GP", "40GP", "40HC"]), tare, net, tare + net, d.choice(TOWNS),
            d.choice(TOWNS), moment(d))


TABLES = {
    # table: (maker, columns with their types, primary key or None)
    "orders": (orders, "id:INT customer:INT ordered:STAMP delivered:STAMP quantity:INT price:MONEY total:MONEY status:TEXT", ["id"]),
    "sensors": (sensors, "device:TEXT taken:STAMP temperature:FLOAT humidity:FLOAT battery:INT", ["device", "taken"]),
    "staff": (staff, "staff_id:INT first_name:TEXT last_name:TEXT email:TEXT department:TEXT hired:DATE salary:INT manager:INT", ["staff_id"]),
    "inventory": (inventory, "part:TEXT description:TEXT stock:INT reorder:INT shelf:TEXT cost:MONEY", ["part"]),
    "log_events": (log_events, "at:STAMP level:TEXT service:TEXT message:TEXT millis:FLOAT trace:TEXT", None),
    "prices": (prices, "symbol:TEXT day:DATE close:FLOAT high:FLOAT low:FLOAT volume:INT", None),
    "survey": (survey, "respondent:INT submitted:STAMP age:INT area:TEXT price:INT service:INT recommend:INT remark:TEXT", ["respondent"]),
    "schools": (schools, "number:INT name:TEXT town:TEXT pupils:INT teachers:INT founded:INT private:BOOL", ["number"]),
    "weather": (weather, "station:TEXT day:DATE low:FLOAT high:FLOAT rain:FLOAT wind_direction:INT pressure:FLOAT cloud:INT", None),
    "bank": (bank, "booking:TEXT account:TEXT at:STAMP amount:MONEY direction:TEXT currency:TEXT purpose:TEXT", ["booking"]),
    "loans": (loans, "id:INT book:INT reader:INT lent:DATE due:DATE returned:DATE renewals:INT", None),
    "matches": (matches, "id:INT played:DATE home:TEXT away:TEXT home_goals:INT away_goals:INT spectators:INT", ["id"]),
    "foods": (foods, "id:INT food:TEXT fat:FLOAT carbohydrates:FLOAT protein:FLOAT kcal:INT organic:BOOL", None),
    "homes": (homes, "listing:INT town:TEXT postcode:TEXT rooms:INT area:FLOAT price:FLOAT built:INT energy:TEXT", ["listing"]),
    "trips": (trips, "begin:STAMP finish:STAMP zone_from:INT zone_to:INT passengers:INT km:FLOAT fare:MONEY tip:MONEY paid_by:TEXT", None),
    "visits": (visits, "visit:INT patient:INT day:DATE reason:TEXT systolic:INT diastolic:INT temperature:FLOAT diagnosis:TEXT", ["visit"]),
    "meters": (meters, "meter:TEXT day:DATE reading_before:INT reading_after:INT tariff:TEXT estimated:BOOL", None),
    "tickets": (tickets, "ticket:TEXT opened:STAMP closed:STAMP priority:TEXT agent:TEXT subject:TEXT rating:INT", ["ticket"]),
    "species": (species, "id:INT name:TEXT lat:FLOAT lon:FLOAT plants:INT seen:DATE observer:TEXT", None),
    "containers": (containers, "container:TEXT kind:TEXT tare:INT net:INT gross:INT port_from:TEXT port_to:TEXT loaded:STAMP", None),
}


def clean() -> None:
    folder = Folder(*sys.argv[1:4])
    whole = pathlib.Path(sys.argv[4])
    shutil.rmtree(whole, ignore_errors=True)
    for name, (make, columns, key) in TABLES.items():
        schema = [(c.split(":")[0], globals()[c.split(":")[1]]) for c in columns.split()]
        rows = [make(folder.random, i) for i in range(1, 10 * folder.rows + 1)]
        folder.records(name, schema, folder.random.sample(rows, folder.rows), key)
        write_deltalake(whole / name, arrow(schema, rows))
    folder.finish(tables=list(TABLES))


clean()
