package sqlfilter

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// The parameters of the SQL of [policy.MaskHash]: the two keys of HMAC in hexadecimal
// digits, as [HashKeys] returns them. They are secrets, so SQL text must not hold them.
const (
	hashInner = "lw_mask_inner"
	hashOuter = "lw_mask_outer"
)

func textBytes(value string) string { return "system.main.encode(CAST(" + value + " AS VARCHAR))" }

// hashBytes returns SQL for the canonical bytes of a value of a type that [policy.MaskHash]
// fits: equal values have equal bytes.
func hashBytes(typ sqltype.Type, value string) string {
	switch typ {
	case sqltype.Varchar:
		return "system.main.encode(" + value + ")"
	case sqltype.Blob:
		return value
	case sqltype.Float, sqltype.Double: // the two zeros are equal
		return textBytes("CASE WHEN " + value + " = 0 THEN CAST(0 AS " + typ.String() + ") ELSE " + value + " END")
	case sqltype.TimestampTZ:
		return textBytes(utc(value))
	}
	return textBytes(value)
}

// utc converts an instant to a timestamp in UTC, independent of the session's time zone.
func utc(value string) string {
	return "system.main.make_timestamp(system.main.epoch_us(" + value + "))"
}

// Masked returns a column as it is shown under a mask, and the SQL over the alias that computes its
// values. A mask that does not fit the type shows NULL.
//
// The SQL cannot fail for any value: a failure would reveal information about masked values. The
// SQL of [policy.MaskHash] has the parameters that [HashKeys] returns.
func Masked(c engine.Column, mask, alias string) (engine.Column, string) {
	value := engine.QuoteIdent(alias) + "." + engine.QuoteIdent(c.Name)
	if !policy.MaskFits(mask, c.Type) {
		mask = policy.MaskNull
	}
	switch mask {
	case policy.MaskHash:
		bytes := hashBytes(c.Type, value)
		c.Type = sqltype.Varchar
		return c, hmacSQL(bytes)
	case policy.MaskLast4:
		// Neither short texts nor the length of long ones are shown.
		return c, "CASE WHEN system.main.length(" + value + ") > 4 THEN '****' || system.main.right(" + value + ", 4) WHEN " +
			value + " IS NOT NULL THEN '****' END"
	case policy.MaskYear:
		c.Nullable = true // years beyond four digits
		return c, yearSQL(c.Type, value)
	}
	c.Nullable = true
	return c, "CAST(NULL AS " + c.Type.String() + ")"
}

// yearSQL truncates to the year. Values outside the years 1 to 9999 become NULL, because the
// beginning of their year may not be representable.
func yearSQL(typ sqltype.Type, value string) string {
	if typ == sqltype.TimestampTZ {
		value = utc(value)
	}
	year := "system.main.year(" + value + ")"
	year = "CASE WHEN " + year + " BETWEEN 1 AND 9999 THEN " + year + " END"
	if typ == sqltype.Date {
		return "system.main.make_date(" + year + ", 1, 1)"
	}
	return "CAST(system.main.make_timestamp(" + year + ", 1, 1, 0, 0, 0.0) AS " + typ.String() + ")"
}

// hmacSQL returns HMAC-SHA-256 (RFC 2104) in hexadecimal digits.
func hmacSQL(bytes string) string {
	key := func(name string) string { return "system.main.unhex($" + name + ")" }
	inner := "system.main.unhex(system.main.sha256(" + key(hashInner) + " || " + bytes + "))"
	return "system.main.sha256(" + key(hashOuter) + " || " + inner + ")"
}

// HashKeys returns the parameters of the SQL of [policy.MaskHash], by name, for a key.
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
