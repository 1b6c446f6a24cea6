"""Names of organisations with planted variants, and the clusters that key collision finds among them.

ROWS is the number of different names. The truth has `clusters`: the sets of names with the same key by OpenRefine's documented
methods fingerprint or n-gram fingerprint, for n = 2. They are computed here over all names, planted or not.
"""

import collections
import re
import unicodedata

PLANTED = 3000
HEADS = "bar cor dal fen gor hal jur kel lum mor nor pel quin ros sol tor ul vor wes yar zel bri cla dre fro gla kri plo sta tri".split()
MIDDLES = "a e i o u an el in or us ab ed ig om ut ar en il os um ax ep ik ov".split()
TAILS = """
    bex dan fort gen hart lin mark nex pol quist rand sen tek vale wick yer zon bund craft dorf feld grad holm kamp
    lund mont ness
""".split()
KINDS = "Limited GmbH Holdings Partners Brothers Works Trading Foundation Laboratories Cooperative Institute Press Society Mills".split()
ACCENTS = {"a": "àáâãä", "e": "èéêë", "i": "ìíîï", "o": "òóôõö", "u": "ùúûü", "n": "ñ", "c": "ç", "y": "ý"}
ASCII_PUNCTUATION = re.compile("[!-/:-@\\[-`{-~]")


def plain(text: str) -> str:
    """The text trimmed, in lower case, without punctuation, control characters and accents."""
    text = ASCII_PUNCTUATION.sub("", text.strip().lower())
    text = "".join(c for c in text if c.isspace() or unicodedata.category(c) != "Cc")
    return text if text.isascii() else "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def fingerprint(text: str) -> str:
    return " ".join(sorted(set(plain(text).split())))


def ngram_fingerprint(text: str) -> str:
    text = "".join(plain(text).split())
    return "".join(sorted({text[i:i + 2] for i in range(len(text) - 1)}))


def shuffled(draw: random.Random, name: str) -> str:
    words = name.split(" ")
    return " ".join(words[1:] + words[:1])


def accented(draw: random.Random, name: str) -> str:
    at = draw.choice([i for i, c in enumerate(name) if c in ACCENTS])
    return name[:at] + draw.choice(ACCENTS[name[at]]) + name[at + 1:]


VARIANTS = [
    lambda draw, name: name.upper(),
    lambda draw, name: name.lower(),
    lambda draw, name: name + ".",
    lambda draw, name: name.replace(" ", "  ", 1),
    lambda draw, name: " " + name + " ",
    lambda draw, name: name.replace(" ", ", ", 1),
    lambda draw, name: f"{name.split(' ')[-1]}, {' '.join(name.split(' ')[:-1])}",
    lambda draw, name: name + " " + name.split(" ")[-1],
    lambda draw, name: f'"{name}"',
    lambda draw, name: name.replace(" ", "\t", 1),
    shuffled,
    accented,
    lambda draw, name: name.replace(" ", "", 1),
    lambda draw, name: name.replace(" ", "-"),
    lambda draw, name: name[:3] + " " + name[3:],
    lambda draw, name: name.replace(" ", "_"),
]


def keyed() -> None:
    folder = Folder(*sys.argv[1:])
    draw, rows = folder.random, folder.rows
    words = [(a + b + c).capitalize() for a in HEADS for b in MIDDLES for c in TAILS]
    draw.shuffle(words)
    names, bases = {}, []
    while len(names) < rows - 2 * min(PLANTED, rows // 10):
        name = " ".join(draw.choices(words, k=draw.choice([1, 2, 2, 3])) + [draw.choice(KINDS)])
        names[name] = draw.randint(1, 3)
    bases = draw.sample(list(names), min(PLANTED, rows // 10))
    while len(names) < rows:
        base = draw.choice(bases)
        names[draw.choice(VARIANTS)(draw, base)] = 1
        names[base] = 8
    clusters = set()
    for key in (fingerprint, ngram_fingerprint):
        same = collections.defaultdict(list)
        for name in names:
            same[key(name)].append(name)
        clusters |= {tuple(sorted(c)) for k, c in same.items() if k and len(c) > 1}
    values = [name for name, n in names.items() for _ in range(n)]
    draw.shuffle(values)
    folder.table("organisations", pa.table({
        "id": pa.array(range(1, len(values) + 1), pa.int64()), "name": pa.array(values, pa.string()),
    }), ["id"])
    folder.finish(clusters=sorted(clusters), distinct=len(names))


keyed()
