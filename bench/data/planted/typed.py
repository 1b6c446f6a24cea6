"""One table of 60 columns of known meaning: 30 of them with names that say nothing.

The truth has `columns`: for each its semantic type, and whether its values are personal.
"""

import datetime
import ipaddress
import uuid

FIRST = """
    Aleksander Amina Anouk Beatriz Camille Carlos Chiara Dagmar Dragan Dimitri Elena Edda Fatima Femke Giulia Gwendolyn Hedvig Haruto Henrik
    Ingrid Ivan Jarmila Jonas Katarzyna Kwame Lidia Leila Liam Lucia Magnus Maria Mateusz Michael Nadia Niamh Olivia Oskar Paulo Priya
    Rafael Radomir Rosa Samuel Sanne Sofia Svetlana Tariq Thandiwe Tomas Ursula Viktor William Xenia Yara Yusuf Zofia
""".split()
LAST = """
    Abubakar Andersson Bakker Barros Bjarnason Bogdanov Bianchi Balogun Carvalho Castillo Chukwu Cavalcanti Costa Davies Demir Dubois Eriksson Eskildsen
    Fernandes Fischer Gallardo Goncharov Gupta Haddad Hansen Hernandez Hakimi Ivanova Jansen Jaziri Jovanovic Kaya Keller Kim Kowalczyk
    Larsen Lindqvist Lundgren Mazur Mbeki Meyer Moretti Nakamura Nguyen Nielsen Novotny Okafor Olsen Pereira Petrov Ricci Rahimi Rossi Sato
    Schneider Silva Sandoval Suzuki Takahashi Toth Urbina Varga Virtanen Wojcik Wierzbicki Yilmaz Zhang Zimmermann
""".split()
CITIES = [
    "Aberdeen", "Antwerp", "Bilbao", "Bergen", "Bologna", "Braga", "Brno", "Catania", "Cluj", "Cologne", "Cork", "Debrecen", "Dijon",
    "Dresden", "Durban", "Fukuoka", "Ghent", "Graz", "Haarlem", "Halifax", "Kyoto", "Lagos", "Leipzig", "Lima", "Linz", "Lodz", "Malmo",
    "Maribor", "Medellin", "Montreal", "Munich", "Nairobi", "New York", "Osaka", "Oslo", "Ottawa", "Plovdiv", "Porto", "Poznan",
    "Rotterdam", "San Diego", "Santiago", "Sao Paulo", "Split", "Seville", "Stockholm", "Szeged", "Tampere", "Trieste", "Turin",
    "Utrecht", "Valencia", "Varna", "Vienna", "Vilnius", "Warsaw", "Wellington", "Zurich",
]
COUNTRIES = [
    "Argentina", "Australia", "Austria", "Belgium", "Brazil", "Canada", "Chile", "Colombia", "Czech Republic", "Denmark", "Egypt",
    "Finland", "France", "Germany", "Ghana", "Greece", "Hungary", "India", "Indonesia", "Ireland", "Italy", "Japan", "Kenya", "Mexico",
    "Morocco", "Netherlands", "New Zealand", "Nigeria", "Norway", "Peru", "Poland", "Portugal", "South Africa", "South Korea", "Spain",
    "Sweden", "Switzerland", "Turkey", "Ukraine", "United Kingdom", "United States", "Vietnam",
]
COUNTRY_CODES = "AR AU AT BE BR CA CL CO CZ DK EG FI FR DE GH GR HU IN ID IE IT JP KE MX MA NL NZ NG NO PE PL PT ZA KR ES SE CH TR UA GB US VN".split()
STATES = [
    "Alabama", "Arizona", "California", "Colorado", "Florida", "Georgia", "Illinois", "Indiana", "Kansas", "Maryland", "Michigan",
    "Minnesota", "Nevada", "New Jersey", "New Mexico", "New York", "North Carolina", "Ohio", "Oregon", "Pennsylvania", "Texas", "Utah",
    "Virginia", "Washington", "Wisconsin",
]
STATE_CODES = "AL AZ CA CO FL GA IL IN KS MD MI MN NV NJ NM NY NC OH OR PA TX UT VA WA WI".split()
CURRENCIES = "EUR USD GBP JPY CHF SEK NOK DKK PLN CZK HUF CAD AUD NZD BRL MXN INR CNY ZAR TRY".split()
LANGUAGES = ["English", "German", "French", "Spanish", "Italian", "Portuguese", "Dutch", "Polish", "Swedish", "Japanese", "Arabic", "Turkish"]
LANGUAGE_CODES = ["en", "de", "fr", "es", "it", "pt", "nl", "pl", "sv", "ja", "ar", "tr"]
COLORS = ["red", "green", "blue", "black", "white", "yellow", "orange", "purple", "brown", "grey", "pink", "turquoise"]
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
TRADES = "Logistics Software Bakery Shipping Energy Textiles Motors Optics Brewing Pharma Timber Insurance Media Airlines Robotics".split()
FORMS = ["Inc.", "Ltd", "GmbH", "AG", "LLC", "S.A.", "Corp.", "B.V.", "& Co. KG", "PLC"]
STREETS = """
    Maple Harbour Chestnut Mill Station Church Garden River Meadow Castle Orchard Bridge Windmill Linden Quarry Abbey Juniper Falcon
""".split()
GOODS = """
    kettle lamp backpack headphones keyboard blender notebook chair tent drill mug scarf bicycle router camera jacket pillow umbrella
""".split()
ADJECTIVES = "Compact Deluxe Classic Wireless Foldable Ergonomic Stainless Organic Portable Vintage Heavy-Duty Slim".split()
PHRASES = [
    "the parcel arrived late and nobody answered my call", "I would order from this shop again",
    "colour differs from the picture but works", "please deliver after five in the evening",
    "support solved it within an hour, great", "the manual is missing a page about cleaning",
    "screen flickers when the battery is low", "asked for an invoice twice", "very happy so far",
    "returned because it was too small",
]


def luhn(digits: str) -> str:
    total = sum(sum(divmod(int(d) * 2, 10)) if i % 2 == 0 else int(d) for i, d in enumerate(reversed(digits)))
    return digits + str(-total % 10)


def number(draw: random.Random, n: int) -> str:
    return "".join(draw.choices("0123456789", k=n))


def card(draw: random.Random) -> str:
    return luhn(draw.choice(["4", "51", "55", "2221"]).ljust(5, "0") + number(draw, 10))


def spaced(digits: str) -> str:
    return " ".join(digits[i:i + 4] for i in range(0, len(digits), 4))


def iban(draw: random.Random) -> str:
    country, body = draw.choice([("DE", number(draw, 18)), ("GB", "NWBK" + number(draw, 14)), ("NL", "INGB" + number(draw, 10))])
    digits = "".join(str(int(c, 36)) for c in body + country + "00")
    return f"{country}{98 - int(digits) % 97:02}{body}"


def day(draw: random.Random, first: int, last: int) -> datetime.date:
    return datetime.date(first, 1, 1) + datetime.timedelta(days=draw.randrange(365 * (last - first + 1)))


def moment(draw: random.Random) -> datetime.datetime:
    return datetime.datetime.combine(day(draw, 2019, 2024), datetime.time(draw.randrange(24), draw.randrange(60), draw.randrange(60)))


def mail(draw: random.Random) -> str:
    host = draw.choice(["example.com", "mail.example.org", "uni-example.edu", "example.co.uk"])
    return f"{draw.choice(FIRST)}{draw.choice(['.', '_', ''])}{draw.choice(LAST)}{draw.choice(['', str(draw.randint(1, 99))])}@{host}".lower()


def call(draw: random.Random) -> str:
    a, b, c = draw.randint(201, 989), draw.randint(200, 999), draw.randint(1000, 9999)
    return draw.choice([f"({a}) {b}-{c}", f"+1 {a} {b} {c}", f"{a}-{b}-{c}", f"+1-{a}-{b}-{c}"])


def company(draw: random.Random) -> str:
    return f"{draw.choice(LAST)} {draw.choice(TRADES)} {draw.choice(FORMS)}"


def street(draw: random.Random) -> str:
    kind = draw.choice(["Street", "St", "Avenue", "Road", "Lane", "Ave."])
    return f"{draw.randint(1, 1999)} {draw.choice(STREETS)} {kind}" + draw.choice(["", "", f", Apt {draw.randint(1, 60)}"])


def canadian(draw: random.Random) -> str:
    letters, d = draw.choices("ABCEGHJKLMNPRSTVXY", k=3), number(draw, 3)
    return f"{letters[0]}{d[0]}{letters[1]} {d[1]}{letters[2]}{d[2]}"


def text(draw: random.Random) -> str:
    return ". ".join(p.capitalize() for p in draw.sample(PHRASES, draw.randint(1, 3))) + draw.choice([".", "!", ""])


def path(draw: random.Random) -> str:
    name = f"{draw.choice(GOODS)}-{number(draw, 3)}.{draw.choice(['csv', 'log', 'txt'])}"
    return f"/{draw.choice(['var', 'home', 'srv'])}/{draw.choice(LAST).lower()}/{name}"


def ssn(draw: random.Random) -> str:
    return f"{draw.randint(1, 665):03}-{draw.randint(1, 99):02}-{draw.randint(1, 9999):04}"


# Columns with names that say nothing: the type, whether personal, and a generator of text.
OPAQUE = [
    ("email", True, mail),
    ("phone", True, call),
    ("credit_card", True, card),
    ("iban", True, iban),
    ("url", False, lambda d: f"https://{d.choice(LAST).lower()}.example/{d.choice(GOODS)}?id={number(d, 4)}"),
    ("ip_address", True, lambda d: str(ipaddress.IPv4Address(d.randrange(1 << 24, 223 << 24)))),
    ("uuid", False, lambda d: str(uuid.UUID(int=d.getrandbits(128), version=4))),
    ("person_name", True, lambda d: f"{d.choice(FIRST)} {d.choice(LAST)}"),
    ("first_name", True, lambda d: d.choice(FIRST)),
    ("last_name", True, lambda d: d.choice(LAST)),
    ("company", False, company),
    ("street_address", True, street),
    ("city", False, lambda d: d.choice(CITIES)),
    ("state", False, lambda d: d.choice(STATE_CODES)),
    ("state", False, lambda d: d.choice(STATES)),
    ("country", False, lambda d: d.choice(COUNTRIES)),
    ("country_code", False, lambda d: d.choice(COUNTRY_CODES)),
    ("postal_code", False, canadian),
    ("date", False, lambda d: day(d, 2015, 2024).strftime("%d/%m/%Y")),
    ("date", False, lambda d: day(d, 2015, 2024).isoformat()),
    ("timestamp", False, lambda d: moment(d).strftime("%Y-%m-%dT%H:%M:%SZ")),
    ("boolean", False, lambda d: d.choice(["yes", "no"])),
    ("gender", True, lambda d: d.choice(["male", "female", "female", "male", "non-binary"])),
    ("currency_code", False, lambda d: d.choice(CURRENCIES)),
    ("social_security_number", True, ssn),
    ("language", False, lambda d: d.choice(LANGUAGES)),
    ("color", False, lambda d: d.choice(COLORS)),
    ("file_path", False, path),
    ("free_text", False, text),
    ("month", False, lambda d: d.choice(MONTHS)),
]
TEXT, INT, FLOAT, BOOL, DATE, STAMP = pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("us", "UTC")
# Columns with names that help: name, type in SQL, the semantic type, whether personal, and a generator.
NAMED = [
    ("work_email", TEXT, "email", True, lambda d: mail(d).upper() if d.random() < 0.2 else mail(d)),
    ("mobileNumber", TEXT, "phone", True, lambda d: f"+{d.choice([44, 49, 33])}{d.randint(100000000, 999999999)}"),
    ("card_no", TEXT, "credit_card", True, lambda d: spaced(card(d))),
    ("client_ip", TEXT, "ip_address", True, lambda d: str(ipaddress.IPv6Address(0x20010DB8 << 96 | d.getrandbits(64)))),
    ("website", TEXT, "url", False, lambda d: f"www.{d.choice(LAST).lower()}-{d.choice(GOODS)}.example"),
    ("session_guid", TEXT, "uuid", False, lambda d: f"{{{uuid.UUID(int=d.getrandbits(128), version=4)}}}".upper()),
    ("CUSTOMER_NAME", TEXT, "person_name", True, lambda d: f"{d.choice(LAST)}, {d.choice(FIRST)}"),
    ("given_name", TEXT, "first_name", True, lambda d: d.choice(FIRST)),
    ("surname", TEXT, "last_name", True, lambda d: d.choice(LAST).upper()),
    ("employer", TEXT, "company", False, company),
    ("shipping_address", TEXT, "street_address", True, lambda d: f"{d.choice(STREETS)}straße {d.randint(1, 120)}"),
    ("birth_city", TEXT, "city", False, lambda d: d.choice(CITIES)),
    ("destination_country", TEXT, "country", False, lambda d: d.choice(COUNTRIES)),
    ("zip", TEXT, "postal_code", False, lambda d: number(d, 5) + d.choice(["", "", "-" + number(d, 4)])),
    ("lat", FLOAT, "latitude", False, lambda d: round(d.uniform(35, 60), 5)),
    ("longitude", FLOAT, "longitude", False, lambda d: round(d.uniform(-10, 30), 5)),
    ("dob", DATE, "date_of_birth", True, lambda d: day(d, 1940, 2004)),
    ("order_date", DATE, "date", False, lambda d: day(d, 2019, 2024)),
    ("created_at", STAMP, "timestamp", False, moment),
    ("model_year", INT, "year", False, lambda d: d.randint(1998, 2025)),
    ("unit_price", FLOAT, "amount", False, lambda d: round(d.lognormvariate(3, 1), 2)),
    ("discount_pct", FLOAT, "percentage", False, lambda d: d.choice([0.0, 5.0, 7.5, 10.0, 12.5, 20.0, 33.3])),
    ("qty_ordered", INT, "quantity", False, lambda d: 1 + int(d.expovariate(0.3))),
    ("sku_code", TEXT, "code", False, lambda d: f"{d.choice('ABCKX')}{d.choice('QRZ')}-{d.randint(100, 180)}"),
    ("order_status", TEXT, "category", False, lambda d: d.choice(["open", "paid", "shipped", "returned", "closed"])),
    ("is_active", BOOL, "boolean", False, lambda d: d.random() < 0.7),
    ("patient_age", INT, "age", True, lambda d: min(99, max(0, int(d.gauss(47, 19))))),
    ("product_name", TEXT, "product", False, lambda d: f"{d.choice(ADJECTIVES)} {d.choice(GOODS)}"),
    ("weight_kg", FLOAT, "measurement", False, lambda d: round(d.gauss(74, 12), 1)),
    ("satisfaction_rating", INT, "ordinal", False, lambda d: d.choices([1, 2, 3, 4, 5], [1, 2, 5, 8, 4])[0]),
]


def typed() -> None:
    folder = Folder(*sys.argv[1:])
    draw = folder.random
    numbers = draw.sample(range(1, 99), len(OPAQUE))
    columns = [(f"c{n}", TEXT, *facts) for n, facts in zip(numbers, OPAQUE)] + NAMED
    draw.shuffle(columns)
    made = {}
    for name, kind, _, _, generate in columns:
        missing = draw.choice([0, 0, 0.02, 0.1])
        made[name] = pa.array([None if draw.random() < missing else generate(draw) for _ in range(folder.rows)], kind)
    folder.table("wide", pa.table(made))
    folder.finish(columns=[{"table": "wide", "column": n, "type": t, "pii": pii} for n, _, t, pii, _ in columns])


typed()
