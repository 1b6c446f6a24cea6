package sqlfilter_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// maskCase is a value of a type, with what the masks show of it; "" is NULL.
type maskCase struct {
	typ, value string
	// text is the hashed text.
	text, last4, year string
}

// Values that have no hash: of a type without, and instants without a text.
const (
	none    = "\x00none"
	endless = "\x00endless"
)

var maskCases = []maskCase{
	{"VARCHAR", "'Ünïcode 日本'", "Ünïcode 日本", "****e 日本", ""},
	{"VARCHAR", "'1234'", "1234", "****", ""},
	{"VARCHAR", "'12345'", "12345", "****2345", ""},
	{"VARCHAR", "''", "", "****", ""},
	{"VARCHAR", `'\x41''"%'`, `\x41'"%`, `****1'"%`, ""},
	{"VARCHAR", "repeat('long', 1000)", strings.Repeat("long", 1000), "****long", ""},
	{"BIGINT", "-9223372036854775808", "-9223372036854775808", "", ""},
	{"INTEGER", "0", "0", "", ""},
	{"TINYINT", "127", "127", "", ""},
	{"BOOLEAN", "true", "true", "", ""},
	{"DECIMAL(12,2)", "-1.50", "-1.50", "", ""},
	{"DECIMAL(38,10)", "0", "0.0000000000", "", ""},
	{"DOUBLE", "'-0.0'", "0.0", "", ""},
	{"DOUBLE", "0", "0.0", "", ""},
	{"DOUBLE", "'nan'", "nan", "", ""},
	{"FLOAT", "0.5", "0.5", "", ""},
	{"BLOB", `'\x00\xFFa'::BLOB`, "\x00\xffa", "", ""},
	{"DATE", "'2024-02-29'", "2024-02-29", "", "2024-01-01"},
	{"DATE", "'0001-12-31'", "0001-12-31", "", "0001-01-01"},
	{"DATE", "'9999-12-31'", "9999-12-31", "", "9999-01-01"},
	{"DATE", "'10000-01-01'", "10000-01-01", "", ""},
	{"DATE", "'-5877641-06-25'", "5877642-06-25 (BC)", "", ""},
	{"DATE", "'5881580-07-10'", "5881580-07-10", "", ""},
	{"DATE", "'infinity'", "infinity", "", ""},
	{"TIMESTAMP", "'2024-02-29 23:59:59.999999'", "2024-02-29 23:59:59.999999", "", "2024-01-01 00:00:00"},
	{"TIMESTAMP", "'294247-01-10 04:00:54.775806'", "294247-01-10 04:00:54.775806", "", ""},
	{"TIMESTAMP", "'-infinity'", "-infinity", "", ""},
	{"TIMESTAMP WITH TIME ZONE", "'2024-12-31 23:30:00+00'", "2024-12-31 23:30:00", "", "2024-01-01 00:00:00+00"},
	{"TIMESTAMP WITH TIME ZONE", "'2025-01-01 00:30:00+01'", "2024-12-31 23:30:00", "", "2024-01-01 00:00:00+00"},
	{"TIMESTAMP WITH TIME ZONE", "'infinity'", endless, "", ""},
	{"INTEGER[]", "[1, 2]", none, "", ""},
	{"STRUCT(a INTEGER, b VARCHAR)", "{'a': 1, 'b': 'x'}", none, "", ""},
	{"MAP(VARCHAR, INTEGER)", "MAP {'a': 1}", none, "", ""},
}

// show runs a mask over one value and returns what it shows.
func show(t *testing.T, db *sql.DB, key []byte, mask, typ, value string) (shown sql.NullString) {
	t.Helper()
	seen, expr := sqlfilter.Masked(engine.Column{Name: `va"l`, Type: sqltype.MustParse(typ)}, mask, "t")
	for name, secret := range sqlfilter.HashKeys(key) {
		expr = strings.ReplaceAll(expr, "$"+name, "'"+secret+"'")
	}
	var got string
	row := db.QueryRow(fmt.Sprintf(`SELECT CAST(m AS VARCHAR), typeof(m) FROM (SELECT %s AS m FROM (SELECT CAST(%s AS %s) AS "va""l") t)`,
		expr, value, typ))
	require.NoError(t, row.Scan(&shown, &got), "%s of %s %s", mask, typ, value)
	require.Equal(t, seen.Type.String(), got, "%s of %s", mask, typ)
	return shown
}

// TestMasksInTheEngine evaluates every mask of every type in the engine, and compares hashes with
// the HMAC of Go's library.
func TestMasksInTheEngine(t *testing.T) {
	db, err := sql.Open("duckdb", "")
	require.NoError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.Exec("SET TimeZone = 'UTC'")
	require.NoError(t, err)
	for _, key := range [][]byte{[]byte("k"), []byte(strings.Repeat("32 bytes", 4)), []byte(strings.Repeat("a long key ", 9)), {}} {
		for _, c := range maskCases {
			check := func(mask, want string) {
				t.Helper()
				got := show(t, db, key, mask, c.typ, c.value)
				require.Equal(t, sql.NullString{String: want, Valid: want != ""}, got, "%s of %s %s", mask, c.typ, c.value)
				require.False(t, show(t, db, key, mask, c.typ, "NULL").Valid, "%s of NULL", mask)
			}
			hash := ""
			if !slices.Contains([]string{none, endless}, c.text) {
				mac := hmac.New(sha256.New, key)
				mac.Write([]byte(c.text))
				hash = hex.EncodeToString(mac.Sum(nil))
			}
			require.Equal(t, c.text != none, policy.MaskFits(policy.MaskHash, sqltype.MustParse(c.typ)))
			check(policy.MaskHash, hash)
			check(policy.MaskNull, "")
			check(policy.MaskLast4, c.last4)
			check(policy.MaskYear, c.year)
			check("unknown", "")
		}
	}
}
