# Describes CSV files by the csv module and DuckDB's TRY_CAST, for comparison with the server.
# Arguments: the folder with index.json, and the file to write.
import csv, io, json, re, sys
import duckdb

CODECS = {"utf-8": "utf-8-sig", "latin-1": "latin-1", "windows-1252": "cp1252", "utf-16": "utf-16"}
LONG = r"-?(0|[1-9][0-9]*)"
PLAIN = r"-?((0|[1-9][0-9]*)(\.[0-9]+)?|\.[0-9]+)"
NUMBER = PLAIN + r"([eE][-+]?[0-9]+)?"
SPECIAL = ("NaN", "nan", "Infinity", "inf", "Inf", "-Infinity", "-inf", "-Inf")
CLOCK = r"[Tt ]\d\d:\d\d:\d\d(\.\d{1,6}0*)?"
con = duckdb.connect()


def records(path, d):
    raw = open(path, "rb").read()
    codec = CODECS[d["encoding"]]
    if codec == "utf-16" and raw[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        codec = "utf-16-le"
    text = raw.decode(codec, errors="surrogateescape")
    lines = text.splitlines(keepends=True)[d["skip"]:]
    numbers = [n for n, t in enumerate(lines, d["skip"] + 1) if not d["comment"] or not t.startswith(d["comment"])]
    text = "".join(lines[n - d["skip"] - 1] for n in numbers)
    # The csv module does not tell an empty text in quotes from NULL.
    q, sep = re.escape(d["quote"]), re.escape(d["delimiter"])
    text = re.sub(rf"(^|{sep}|\n){q}{q}(?=[\r\n]|{sep}|$)", rf"\1{d['quote']}" + "\x01" + d["quote"], text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=d["delimiter"], quotechar=d["quote"], strict=True)
    line = 0
    for row in reader:
        yield numbers[line], row
        line = reader.line_num


def all_are(column, condition):
    return con.execute(f"SELECT coalesce(bool_and(coalesce({condition}, false)), false) FROM cells WHERE c{column} IS NOT NULL"
                       .replace("$", f"c{column}")).fetchone()[0]


def matches(pattern):
    return "regexp_full_match($, '" + pattern + "')"


def type_of(i, values, d):
    if not values or any("\udc80" <= ch <= "\udcff" for v in values for ch in v):
        return "utf8"
    if all_are(i, "lower($) IN ('true', 'false') AND TRY_CAST($ AS BOOLEAN) IS NOT NULL"):
        return "bool"
    number, plain = "$", values
    if d["thousands"]:
        t = re.escape(d["thousands"])
        grouped = f"^-?[1-9][0-9]{{0,2}}({t}[0-9]{{3}})+([.,][0-9]+)?$"
        con.execute("CREATE OR REPLACE MACRO ungrouped(v) AS CASE WHEN regexp_matches(v, '" + grouped + "') THEN replace(v, '" +
                    d["thousands"] + "', '') WHEN NOT contains(v, '" + d["thousands"] + "') THEN v END")
        number, plain = "ungrouped($)", [v.replace(d["thousands"], "") for v in values]
    if d["decimal"] == "comma":
        number = f"CASE WHEN NOT contains({number}, '.') THEN replace({number}, ',', '.') END"
    if all_are(i, f"regexp_full_match({number}, '{LONG}') AND TRY_CAST({number} AS BIGINT) IS NOT NULL"):
        return "int64"
    plain = [v.replace(",", ".") if d["decimal"] == "comma" else v for v in plain]
    is_plain = all_are(i, f"regexp_full_match({number}, '{PLAIN}')")
    if is_plain:
        scale = max(len(v.partition(".")[2]) for v in plain)
        for precision in range(scale + 1, 39):
            if all_are(i, f"TRY_CAST({number} AS DECIMAL({precision},{scale})) IS NOT NULL"):
                return f"decimal128({precision},{scale})"
        if scale == 0:
            return "utf8"
    special = "$ IN (" + ", ".join(f"'{v}'" for v in SPECIAL) + ")"
    finite = f"(regexp_full_match({number}, '{NUMBER}') AND isfinite(TRY_CAST({number} AS DOUBLE)))"
    if all_are(i, f"{special} OR {finite}") and not all_are(i, special):
        return "double"
    if d["dateFormat"] is None:
        date = matches(r"\d{4}-\d\d-\d\d") + " AND TRY_CAST($ AS DATE) IS NOT NULL"
    else:
        date = f"try_strptime($, '{d['dateFormat']}') IS NOT NULL"
    if all_are(i, date):
        return "date32"
    day = r"\d{4}-\d\d-\d\d"
    if d["timestampFormat"] is not None:
        if all_are(i, f"try_strptime($, '{d['timestampFormat']}') IS NOT NULL"):
            return "timestamp[us, tz=UTC]" if "%z" in d["timestampFormat"] else "timestamp[us]"
        return "utf8"
    if all_are(i, matches(day + CLOCK) + " AND TRY_CAST($ AS TIMESTAMP) IS NOT NULL"):
        return "timestamp[us]"
    if all_are(i, matches(day + CLOCK + r"([Zz]|[-+]\d\d:\d\d)") + " AND TRY_CAST($ AS TIMESTAMPTZ) IS NOT NULL"):
        return "timestamp[us, tz=UTC]"
    return "utf8"


def describe(path, d):
    rows, ragged, columns = [], [], None
    for line, row in records(path, d):
        if columns is None:
            columns = len(row)
            if d["header"]:
                continue
        if not row:
            if columns > 1:
                continue
            row = [""]
        if len(row) != columns:
            ragged.append(line)
        nulls = {""} if d["nullIn"] == "typed" else {"", d["nullText"]}
        row = [None if v in nulls else v.replace("\x01", "") for v in row]
        rows.append((row + [None] * columns)[:columns])
    con.execute("CREATE OR REPLACE TABLE cells (" + ", ".join(f"c{i} VARCHAR" for i in range(columns)) + ")")
    escaped = [[None if v is None else v.encode("utf-8", "replace").decode() for v in row] for row in rows]
    for row in escaped:
        con.execute("INSERT INTO cells VALUES (" + ", ".join("?" * columns) + ")", row)
    fields, candidates = [], {}
    for i in range(columns):
        values = [row[i] for row in rows if row[i] is not None]
        if d["nullIn"] == "typed" and any(v != d["nullText"] for v in values):
            con.execute(f"CREATE OR REPLACE TEMP TABLE kept AS FROM cells; UPDATE cells SET c{i} = NULL WHERE c{i} = ?", [d["nullText"]])
            rest = [v for v in values if v != d["nullText"]]
            if type_of(i, rest, d) == "utf8":
                con.execute("DELETE FROM cells; INSERT INTO cells FROM kept")
            else:
                values = rest
        typ = type_of(i, values, d)
        fields.append({"type": typ, "nullable": len(values) < len(rows) or not rows})
        counts = con.execute(f"SELECT c{i}, count(*) FROM cells WHERE c{i} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, encode(c{i})").fetchall()
        broken = any("\udc80" <= ch <= "\udcff" for v in values for ch in v)
        if (typ == "utf8" and 0 < len(counts) <= 100 and len(values) >= 2 * len(counts) and not broken
                and all(v.strip() and len(v.encode()) <= 1024 for v, _ in counts)):
            candidates[str(i)] = [{"value": v, "count": n} for v, n in counts]
    return {"fields": fields, "rowCount": len(rows), "ragged": ragged, "candidates": candidates}


folder, out = sys.argv[1:]
found = {}
for entry in json.load(open(folder + "/index.json")):
    try:
        found[entry["file"]] = describe(folder + "/" + entry["file"], entry["dialect"])
    except Exception as e:
        raise Exception(entry["file"]) from e
json.dump(found, open(out, "w"))
