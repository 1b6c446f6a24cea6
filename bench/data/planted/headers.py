"""Five tables, and 50 headers of files that are to be read into them.

Half of the headers come with values. The truth has `requests`: for each the table and its headers, with values or without, and for
each header the column that it means; an empty one means that no column fits.
"""

import datetime

FORENAMES = "Agnieszka Bruno Cosima Duncan Esperanza Florian Ginevra Hamza Iolanda Jasper Kirsten Lorenzo Mireille Norbert".split()
FAMILIES = "Achterberg Bouchard Cavendish Delacroix Engstrom Fairweather Gutierrez Hollander Iglesias Jorgensen Kaminski Lombardi".split()
TOWNS = "Ajaccio Bruges Cuenca Debrecen Esbjerg Faro Galway Heraklion Innsbruck Jena Kosice Lugano Modena Namur Olomouc".split()
WARES = ["desk lamp", "garden hose", "tea pot", "wall clock", "paint brush", "floor mat", "door bell", "sun hat", "rain coat", "tool box"]
WARDS = ["cardiology", "oncology", "paediatrics", "surgery", "radiology"]
TEXT, INT, FLOAT, BOOL, DATE, STAMP = pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("us", "UTC")


def day(draw: random.Random, first: int = 2018, last: int = 2024) -> datetime.date:
    return datetime.date(first, 1, 1) + datetime.timedelta(days=draw.randrange(365 * (last - first + 1)))


def moment(draw: random.Random) -> datetime.datetime:
    return datetime.datetime.combine(day(draw), datetime.time(draw.randrange(24), draw.randrange(60)), datetime.timezone.utc)


TABLES = {
    "customers": [
        ("customer_id", INT, lambda d: d.randint(10000, 99999)),
        ("first_name", TEXT, lambda d: d.choice(FORENAMES)),
        ("last_name", TEXT, lambda d: d.choice(FAMILIES)),
        ("email", TEXT, lambda d: f"{d.choice(FORENAMES)}.{d.choice(FAMILIES)}@post.example".lower()),
        ("phone", TEXT, lambda d: f"+43 {d.randint(600, 699)} {d.randint(100000, 999999)}"),
        ("street", TEXT, lambda d: f"{d.choice(FAMILIES)}weg {d.randint(1, 99)}"),
        ("city", TEXT, lambda d: d.choice(TOWNS)),
        ("postal_code", TEXT, lambda d: f"{d.randint(1000, 9999)}"),
        ("birth_date", DATE, lambda d: day(d, 1940, 2003)),
        ("newsletter", BOOL, lambda d: d.random() < 0.4),
    ],
    "orders": [
        ("order_number", TEXT, lambda d: f"SO-{d.randint(100000, 999999)}"),
        ("customer_id", INT, lambda d: d.randint(10000, 99999)),
        ("order_date", DATE, day),
        ("ship_date", DATE, day),
        ("product", TEXT, lambda d: d.choice(WARES)),
        ("quantity", INT, lambda d: d.randint(1, 24)),
        ("unit_price", FLOAT, lambda d: round(d.uniform(2, 300), 2)),
        ("discount", FLOAT, lambda d: d.choice([0.0, 0.05, 0.1, 0.2])),
        ("total_amount", FLOAT, lambda d: round(d.uniform(500, 9000), 2)),
        ("currency", TEXT, lambda d: d.choice(["EUR", "CHF", "PLN"])),
    ],
    "employees": [
        ("employee_id", TEXT, lambda d: f"E{d.randint(1000, 9999)}"),
        ("full_name", TEXT, lambda d: f"{d.choice(FORENAMES)} {d.choice(FAMILIES)}"),
        ("department", TEXT, lambda d: d.choice(["sales", "finance", "research", "legal", "support"])),
        ("job_title", TEXT, lambda d: d.choice(["clerk", "analyst", "engineer", "team lead", "counsel"])),
        ("hire_date", DATE, day),
        ("salary", FLOAT, lambda d: float(d.randrange(28000, 120000, 500))),
        ("manager_id", TEXT, lambda d: f"E{d.randint(1000, 9999)}"),
        ("office_location", TEXT, lambda d: d.choice(TOWNS)),
        ("is_remote", BOOL, lambda d: d.random() < 0.3),
        ("vacation_days", INT, lambda d: d.randint(20, 35)),
    ],
    "shipments": [
        ("tracking_number", TEXT, lambda d: f"1Z{d.randint(10**9, 10**10 - 1)}"),
        ("carrier", TEXT, lambda d: d.choice(["DPD", "GLS", "UPS", "Hermes"])),
        ("origin_city", TEXT, lambda d: d.choice(TOWNS)),
        ("destination_city", TEXT, lambda d: d.choice(TOWNS)),
        ("weight_kg", FLOAT, lambda d: round(d.uniform(0.1, 31), 2)),
        ("volume", FLOAT, lambda d: round(d.uniform(0.001, 1.2), 3)),
        ("shipped_at", STAMP, moment),
        ("delivered_at", STAMP, moment),
        ("status", TEXT, lambda d: d.choice(["in transit", "delivered", "lost"])),
        ("shipping_cost", FLOAT, lambda d: round(d.uniform(3, 80), 2)),
    ],
    "patients": [
        ("patient_number", INT, lambda d: d.randint(700000, 799999)),
        ("surname", TEXT, lambda d: d.choice(FAMILIES)),
        ("gender", TEXT, lambda d: d.choice(["f", "m", "x"])),
        ("date_of_birth", DATE, lambda d: day(d, 1930, 2015)),
        ("ward", TEXT, lambda d: d.choice(WARDS)),
        ("admission_date", DATE, day),
        ("discharge_date", DATE, day),
        ("diagnosis_code", TEXT, lambda d: f"{d.choice('ABCIJK')}{d.randint(10, 99)}.{d.randint(0, 9)}"),
        ("height_cm", FLOAT, lambda d: round(d.gauss(170, 11), 1)),
        ("blood_type", TEXT, lambda d: d.choice(["0+", "A+", "B+", "AB-", "A-"])),
    ],
}
# Requests: the table, whether with values, and the headers with what they mean. A header may borrow the values of another column,
# which is then the one that it means, whatever it says.
REQUESTS = [
    ("customers", False, [
        ("Vorname", "first_name"), ("Nachname", "last_name"), ("PLZ", "postal_code"),
        ("E-Mail-Adresse", "email"), ("custNo", "customer_id"),
    ]),
    ("customers", True, [
        ("number", "phone"), ("name", "email"), ("Ort", "city"), ("DOB", "birth_date"), ("Straße", "street"),
    ]),
    ("orders", False, [
        ("fecha_pedido", "order_date"), ("Qty", "quantity"), ("unitPrice", "unit_price"),
        ("article", "product"), ("grand total", "total_amount"),
    ]),
    ("orders", True, [
        ("Bestellnummer", "order_number"), ("ccy", "currency"), ("rebate", "discount"),
        ("col_5", "product"), ("Kunden-Nr.", "customer_id"),
    ]),
    ("employees", False, [
        ("dept", "department"), ("startDate", "hire_date"), ("annual pay", "salary"),
        ("empl_id", "employee_id"), ("role", "job_title"),
    ]),
    ("employees", True, [
        ("nom complet", "full_name"), ("works from home", "is_remote"), ("Gehalt", "salary"),
        ("Abteilung", "department"), ("site", "office_location"),
    ]),
    ("shipments", False, [
        ("trackingNo", "tracking_number"), ("from", "origin_city"), ("wt", "weight_kg"),
        ("deliveryTimestamp", "delivered_at"), ("freight charge", "shipping_cost"),
    ]),
    ("shipments", True, [
        ("transporteur", "carrier"), ("Zielort", "destination_city"), ("state", "status"),
        ("field1", "tracking_number"), ("poids", "weight_kg"),
    ]),
    ("patients", False, [
        ("Geburtsdatum", "date_of_birth"), ("sex", "gender"), ("lastName", "surname"),
        ("admitted_on", "admission_date"), ("pat_no", "patient_number"),
    ]),
    ("patients", True, [
        ("icd10", "diagnosis_code"), ("Blutgruppe", "blood_type"), ("size", "height_cm"), ("unit", "ward"), ("favourite colour", ""),
    ]),
]


def shown(value) -> str:
    return value.strftime("%Y-%m-%d %H:%M:%S") if isinstance(value, datetime.datetime) else str(value)


def headers() -> None:
    folder = Folder(*sys.argv[1:])
    draw, requests = folder.random, []
    for table, columns in TABLES.items():
        schema = [(name, kind) for name, kind, _ in columns]
        folder.records(table, schema, [tuple(make(draw) for _, _, make in columns) for _ in range(folder.rows)])
    for table, with_values, pairs in REQUESTS:
        makers = {name: make for name, _, make in TABLES[table]}
        makers[""] = lambda d: d.choice(["teal", "beige", "magenta"])
        request = {"table": table, "headers": [], "targets": [target for _, target in pairs]}
        for header, target in pairs:
            values = [shown(makers[target](draw)) for _ in range(20)] if with_values else []
            request["headers"].append({"name": header, "values": values})
        requests.append(request)
    folder.finish(requests=requests)


headers()
