package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// The parameters of the SQL of [MaskHash]: the two keys of HMAC in hexadecimal
// digits, as [HashKeys] returns them. They are secrets, and so no part of SQL.
const (
	hashInner = "lw_mask_inner"
	hashOuter = "lw_mask_outer"
)

// hashable maps the types that can be hashed to what their canonical bytes are:
// equal values have equal ones. Decimals are added by [hashBytes].
var hashable = map[string]func(value string) string{
	"VARCHAR": func(v string) string { return "system.main.encode(" + v + ")" },
	"BLOB":    func(v string) string { return v },
	"BOOLEAN": textBytes, "DATE": textBytes, "TIMESTAMP": textBytes,
	"TINYINT": textBytes, "SMALLINT": textBytes, "INTEGER": textBytes, "BIGINT": textBytes,
	"UTINYINT": textBytes, "USMALLINT": textBytes, "UINTEGER": textBytes, "UBIGINT": textBytes, "HUGEINT": textBytes,
	"FLOAT": floatBytes("FLOAT"), "DOUBLE": floatBytes("DOUBLE"),
	"TIMESTAMP WITH TIME ZONE": func(v string) string { return textBytes(utc(v)) },
}

func textBytes(value string) string { return "system.main.encode(CAST(" + value + " AS VARCHAR))" }

// floatBytes: the two zeros are equal.
func floatBytes(typ string) func(string) string {
	return func(v string) string {
		return textBytes("CASE WHEN " + v + " = 0 THEN CAST(0 AS " + typ + ") ELSE " + v + " END")
	}
}

// utc is an instant as a timestamp, whatever the session's time zone.
func utc(value string) string {
	return "system.main.make_timestamp(system.main.epoch_us(" + value + "))"
}

func hashBytes(typ string) (func(string) string, bool) {
	if strings.HasPrefix(typ, "DECIMAL(") && strings.Count(typ, "(") == 1 && strings.HasSuffix(typ, ")") {
		return textBytes, true
	}
	of, ok := hashable[typ]
	return of, ok
}

// MaskFits reports whether columns of a type can be shown under a mask.
func MaskFits(mask, typ string) bool {
	switch mask {
	case MaskNull:
		return true
	case MaskHash:
		_, ok := hashBytes(typ)
		return ok
	case MaskLast4:
		return typ == "VARCHAR"
	case MaskYear:
		return typ == "DATE" || typ == "TIMESTAMP" || typ == "TIMESTAMP WITH TIME ZONE"
	}
	return false
}

// Masked returns a column as it is shown under a mask, and the SQL over the
// alias that makes its values. A mask that does not fit the type shows NULL.
//
// The SQL cannot fail for any value: a failure would tell of values that are
// masked. That of [MaskHash] has the parameters that [HashKeys] gives.
func Masked(c engine.Column, mask, alias string) (engine.Column, string) {
	value := engine.QuoteIdent(alias) + "." + engine.QuoteIdent(c.Name)
	if !MaskFits(mask, c.Type) {
		mask = MaskNull
	}
	switch mask {
	case MaskHash:
		of, _ := hashBytes(c.Type)
		c.Type = "VARCHAR"
		return c, hmacSQL(of(value))
	case MaskLast4:
		// Of short texts, and of the length of long ones, nothing is shown.
		return c, "CASE WHEN system.main.length(" + value + ") > 4 THEN '****' || system.main.right(" + value + ", 4) WHEN " +
			value + " IS NOT NULL THEN '****' END"
	case MaskYear:
		c.Nullable = true // years beyond four digits
		return c, yearSQL(c.Type, value)
	}
	c.Nullable = true
	return c, "CAST(NULL AS " + c.Type + ")"
}

// yearSQL truncates to the year. Values outside the years 1 to 9999 become NULL:
// not each of them has a beginning of its year.
func yearSQL(typ, value string) string {
	if typ == "TIMESTAMP WITH TIME ZONE" {
		value = utc(value)
	}
	year := "system.main.year(" + value + ")"
	year = "CASE WHEN " + year + " BETWEEN 1 AND 9999 THEN " + year + " END"
	if typ == "DATE" {
		return "system.main.make_date(" + year + ", 1, 1)"
	}
	return "CAST(system.main.make_timestamp(" + year + ", 1, 1, 0, 0, 0.0) AS " + typ + ")"
}

// hmacSQL is HMAC-SHA-256 (RFC 2104) in hexadecimal digits.
func hmacSQL(bytes string) string {
	key := func(name string) string { return "system.main.unhex($" + name + ")" }
	inner := "system.main.unhex(system.main.sha256(" + key(hashInner) + " || " + bytes + "))"
	return "system.main.sha256(" + key(hashOuter) + " || " + inner + ")"
}

// HashKeys returns the parameters of the SQL of [MaskHash], by name, for a key.
func HashKeys(key []byte) map[string]string {
	if len(key) > sha256.BlockSize {
		sum := sha256.Sum256(key)
		key = sum[:]
	}
	pad := func(b byte) string {
		block := make([]byte, sha256.BlockSize)
		copy(block, key)
		for i := range block {
			block[i] ^= b
		}
		return hex.EncodeToString(block)
	}
	return map[string]string{hashInner: pad(0x36), hashOuter: pad(0x5c)}
}
