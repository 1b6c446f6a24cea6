"""People as in the Febrl data sets: originals, and duplicates with errors.

Six of ten rows are originals, nine of ten beyond 100,000 rows. The others are copies of them, up to five of one, with up to six
errors, at most two in a field: slips of the keyboard, of recognition and of the ear, missing, exchanged and abbreviated values. One
original of twenty is a relative of another, with the same surname and address. The truth has `entities`: the person of the row
with the id i + 1.
"""

GIVEN = """
    joshua emily thomas isabella jack sophie lachlan georgia william chloe benjamin mia ethan hannah nicholas alexandra daniel jasmine
    matthew jessica james ella samuel charlotte harrison lily connor olivia jacob ruby cooper grace liam sarah alexander caitlin joel
    amber riley tahlia hamish mikayla jarrod bethany zachary lauren callum brianna angus madeline finlay imogen bailey tiarna kobe
    keely brodie shanaye lewis talia jayden erin tristan abbey flynn zoe hugo eliza noah paige dylan holly jordan phoebe mitchell
    courtney blake teagan sebastian alannah declan freya kyle maddison rhys stephanie marcus bronte dominic shakira xavier annabelle
    jett kirra reuben mackenzie elijah jaime harley nikita aidan rachel darcy laura luke natasha isaac kayla archie monique gabriel
    willow seth amelie edward claudia owen savannah toby lucinda beau simone oscar celeste ryan hayley koby vanessa jai ebony zac
""".split()
SURNAMES = """
    smith nguyen webb campbell white clarke ryan matthews green reid morrison ryder lodge dixon miles hage mccarthy petersen stephenson
    rudd bishop coleman burford goldsworthy pascoe tonkin vincent humphreys lock dolan heinrich chandler millard beams stubbs burgess
    leslie kranz sherriff bradshaw szabo kowalski papadopoulos dellit fitzpatrick rawlings bullock noble ranson hollands kirkland
    zaluski novak blunden menzies wheatley ottens jolly ebert mcgregor mcneill beattie schroeder vandenberg ferrari rossi mahoney
    callahan donnelly hanrahan gallagher weidenbach jagger sutcliffe thorpe eccleston dunstan boothey trimmer crouch palfreyman
""".split()
SURNAME_HEADS = """
    ash beck black brad brom burn cal carl chad cheld clif col cran crom dal den dray east eld fair farn garth glen gran had hal ham
    hart hath hay hol ing kel kend kirk lang lin lock mar mel mill nor oak pem pen pres rad red row rush sax shel shef sid stan
    strat thorn til wal ward wen west whit win wood wyn
""".split()
SURNAME_TAILS = """
    bank beck brook bury by combe cott dale den don field ford gate ham hurst ley low man mere more ridge sby son
    stead ton well wick worth
""".split()
STREET_HEADS = """
    banksia barrallier beasley boobialla burkitt carstensz chauvel clianthus dumbrell ebden forsythe gaunson hackett jansz kootara
    lampard macrossan mugga namatjira officer paperbark quiros reveley stonehaven tantangara ulm verbrugghen wybalena yarralumla zox
""".split()
STREET_KINDS = ["street", "place", "crescent", "avenue", "circuit", "close", "road", "drive", "court", "lane"]
DWELLINGS = ["villa", "flat", "unit", "the lodge", "caravan park", "rowethorpe", "retirement estate", "farm", "cottage", "block"]
STATES = ["nsw", "vic", "qld", "wa", "sa", "tas", "act", "nt"]
NICKNAMES = {
    "joshua": "josh", "thomas": "tom", "isabella": "bella", "william": "bill", "benjamin": "ben", "nicholas": "nick", "daniel": "dan",
    "alexandra": "alex", "matthew": "matt", "jessica": "jess", "samuel": "sam", "jacob": "jake", "zachary": "zac", "mitchell": "mitch",
    "stephanie": "steph", "gabriel": "gabe", "edward": "ted", "dominic": "dom", "lachlan": "lachie", "madeline": "maddy",
}
EAR = [
    ("ph", "f"), ("f", "ph"), ("ck", "k"), ("c", "k"), ("k", "c"), ("ie", "y"), ("y", "ie"), ("ei", "ie"), ("ee", "ea"), ("ou", "u"),
    ("z", "s"), ("s", "z"), ("wh", "w"), ("mc", "mac"), ("tt", "t"), ("ll", "l"), ("nn", "n"), ("ss", "s"), ("gh", "g"), ("x", "ks"),
]
EYE = {"m": "rn", "l": "1", "o": "0", "s": "5", "b": "6", "g": "9", "i": "l", "u": "v", "c": "e", "h": "b", "1": "7", "5": "6", "0": "8"}
KEYBOARD = ["qwertyuiop", "asdfghjkl", "zxcvbnm", "1234567890"]
FIELDS = [
    "given_name", "surname", "street_number", "address_1", "address_2", "suburb", "postcode", "state", "date_of_birth", "soc_sec_id",
]
WEIGHTS = [18, 18, 8, 16, 10, 10, 7, 4, 10, 9]  # how often a field has an error


def neighbour(draw: random.Random, c: str) -> str:
    for line in KEYBOARD:
        at = line.find(c)
        if at >= 0:
            return line[max(0, min(len(line) - 1, at + draw.choice([-1, 1])))]
    return c


def slip(draw: random.Random, text: str) -> str:
    """A slip of the keyboard: a character more, less, another one, or two exchanged."""
    at, kind = draw.randrange(len(text)), draw.random()
    if kind < 0.25:
        return text[:at] + neighbour(draw, text[at]) + text[at:]
    if kind < 0.5 and len(text) > 2:
        return text[:at] + text[at + 1:]
    if kind < 0.75 and at + 1 < len(text):
        return text[:at] + text[at + 1] + text[at] + text[at + 2:]
    return text[:at] + neighbour(draw, text[at]) + text[at + 1:]


def replaced(draw: random.Random, text: str, rules: list) -> str:
    fitting = [(a, b) for a, b in rules if a in text]
    if not fitting:
        return slip(draw, text)
    a, b = draw.choice(fitting)
    return text.replace(a, b, 1)


def wrong_date(draw: random.Random, text: str) -> str:
    year, month, day = text[:4], text[4:6], text[6:]
    kind = draw.random()
    if kind < 0.3:
        return year + day + month
    if kind < 0.6:
        return year + month + f"{draw.randint(1, 28):02}"
    if kind < 0.8:
        return year + f"{draw.randint(1, 12):02}" + day
    return str(int(year) + draw.choice([-10, -1, 1, 10])) + month + day


def wrong(draw: random.Random, field: str, text: str) -> str | None:
    """One error in a value."""
    kind = draw.random()
    if kind < 0.15 and field not in ("given_name", "surname") or kind < 0.05:
        return None
    if field == "date_of_birth":
        return wrong_date(draw, text)
    if field == "state":
        return draw.choice(STATES)
    if field == "given_name" and kind < 0.2:
        return NICKNAMES.get(text, text[0])
    if field in ("address_1", "address_2") and kind < 0.3 and " " in text:
        words = text.split()
        return " ".join(words[1:] + words[:1]) if kind < 0.22 else " ".join(words[:-1] + [words[-1][:2]])
    if text.isdigit() or kind < 0.6:
        return slip(draw, text)
    return replaced(draw, text, EAR) if kind < 0.85 else replaced(draw, text, list(EYE.items()))


def duplicate(draw: random.Random, original: dict) -> dict:
    copy, errors = dict(original), {}
    if draw.random() < 0.04:
        copy["given_name"], copy["surname"] = copy["surname"], copy["given_name"]
    if draw.random() < 0.04:
        copy["address_1"], copy["address_2"] = copy["address_2"], copy["address_1"]
    for field in draw.choices(FIELDS, WEIGHTS, k=draw.choices(range(1, 7), [30, 25, 20, 12, 8, 5])[0]):
        if copy[field] and errors.setdefault(field, 0) < 2:
            copy[field] = wrong(draw, field, copy[field])
            errors[field] += 1
    return copy


def originals(draw: random.Random, n: int) -> list:
    surnames = sorted({a + b for a in SURNAME_HEADS for b in SURNAME_TAILS} - set(SURNAMES))
    draw.shuffle(surnames)
    surnames = SURNAMES + surnames
    streets = [f"{a} {k}" for a in STREET_HEADS + surnames[:400] for k in STREET_KINDS]
    places = [f"{a}{b}" for a in SURNAME_HEADS[::2] for b in ["vale", "burra", "gong", "umba", " heights", " park", " bay", "ah"]]
    suburbs = [(p, str(draw.randint(800, 7999)).zfill(4), draw.choices(STATES, [34, 25, 20, 9, 7, 2, 2, 1])[0]) for p in places]
    draw.shuffle(streets)
    given = draw.choices(GIVEN, cum_weights=cumulative(len(GIVEN), 0.7), k=n)
    family = draw.choices(surnames, cum_weights=cumulative(len(surnames), 0.6), k=n)
    living = draw.choices(suburbs, cum_weights=cumulative(len(suburbs), 0.5), k=n)
    numbers = draw.sample(range(1_000_000, 9_999_999), n)
    out = []
    for i in range(n):
        place, postcode, state = living[i]
        chance = draw.random()
        second = f"{draw.choice(DWELLINGS)} {draw.randint(1, 99)}" if chance < 0.3 else draw.choice(streets) if chance < 0.5 else None
        born = f"{draw.randint(1920, 2005)}{draw.randint(1, 12):02}{draw.randint(1, 28):02}"
        person = {
            "given_name": given[i] if draw.random() > 0.02 else None,
            "surname": family[i] if draw.random() > 0.01 else None,
            "street_number": str(draw.randint(1, 320)) if draw.random() > 0.04 else None,
            "address_1": draw.choice(streets) if draw.random() > 0.02 else None,
            "address_2": second,
            "suburb": place, "postcode": postcode, "state": state,
            "date_of_birth": born if draw.random() > 0.03 else None,
            "soc_sec_id": str(numbers[i]),
        }
        if out and draw.random() < 0.05:
            relative = out[draw.randrange(len(out))]
            for field in ("surname", "street_number", "address_1", "address_2", "suburb", "postcode", "state"):
                person[field] = relative[field]
        out.append(person)
    return out


def people() -> None:
    folder = Folder(*sys.argv[1:])
    draw, rows = folder.random, folder.rows
    n = rows * 9 // 10 if rows > 100_000 else rows * 6 // 10
    all_rows = [(person, i) for i, person in enumerate(originals(draw, n))]
    at = 0
    chosen = draw.sample(range(n), n)
    while len(all_rows) < rows:
        original = chosen[at % n]
        at += 1
        for _ in range(min(rows - len(all_rows), draw.choices([1, 2, 3, 4, 5], [50, 22, 14, 8, 6])[0])):
            all_rows.append((duplicate(draw, all_rows[original][0]), original))
    draw.shuffle(all_rows)
    columns = {"id": pa.array(range(1, rows + 1), pa.int64())}
    columns |= {f: pa.array([person[f] for person, _ in all_rows], pa.string()) for f in FIELDS}
    folder.table("people", pa.table(columns), ["id"])
    folder.finish(entities=[entity for _, entity in all_rows])


people()
