package enginetest

import (
	"context"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// storedValues are values of a type that a file can have, in JSON.
type storedValues struct {
	typ    arrow.DataType
	values []string
}

var fileTypes = []storedValues{
	{arrow.PrimitiveTypes.Int8, []string{"1", "-128"}},
	{arrow.PrimitiveTypes.Int16, []string{"1", "-32768", "300"}},
	{arrow.PrimitiveTypes.Int32, []string{"1", "70000", "-2147483648"}},
	{arrow.PrimitiveTypes.Int64, []string{"1", `"9007199254740993"`, `"-9223372036854775808"`}},
	{arrow.PrimitiveTypes.Uint8, []string{"1", "255"}},
	{arrow.PrimitiveTypes.Uint16, []string{"65535"}},
	{arrow.PrimitiveTypes.Uint32, []string{"4294967295"}},
	{arrow.PrimitiveTypes.Uint64, []string{"1", `"18446744073709551615"`}},
	{arrow.PrimitiveTypes.Float32, []string{"1.5", "2", "16777216"}},
	{arrow.PrimitiveTypes.Float64, []string{"1.7", "2", "0.1", "1e300"}},
	{&arrow.Decimal128Type{Precision: 9, Scale: 2}, []string{`"1.25"`, `"2.00"`, `"-9999999.99"`}},
	{&arrow.Decimal128Type{Precision: 38, Scale: 4}, []string{`"1.2500"`, `"9999999999999999999999999999999999.9999"`}},
	{arrow.FixedWidthTypes.Boolean, []string{"true", "false"}},
	{arrow.BinaryTypes.String, []string{`"12"`, `"seven"`, `"true"`, `"2024-02-29"`, `"2024-02-29 12:00:00"`, `""`}},
	{arrow.BinaryTypes.Binary, []string{`"MTI="`, `"XHg0MQ=="`}}, // 12 and \x41
	{arrow.FixedWidthTypes.Date32, []string{`"2024-02-29"`, `"0001-01-01"`}},
	{&arrow.TimestampType{Unit: arrow.Millisecond}, []string{`"2024-02-29 00:00:00"`, `"2024-02-29 12:00:00.001"`}},
	{&arrow.TimestampType{Unit: arrow.Microsecond}, []string{`"2024-02-29 00:00:00"`, `"2024-02-29 12:00:00.000001"`}},
	{&arrow.TimestampType{Unit: arrow.Nanosecond}, []string{`"2024-02-29 00:00:00"`, `"2024-02-29 12:00:00.000000001"`}},
	{arrow.FixedWidthTypes.Timestamp_us, []string{`"2024-02-29 00:00:00"`, `"2024-02-29 12:00:00.000001"`}},
	{arrow.FixedWidthTypes.Timestamp_ns, []string{`"2024-02-29 00:00:00"`, `"2024-02-29 12:00:00.000000001"`}},
	{arrow.FixedWidthTypes.Time64us, []string{`"12:00:00"`}},
}

var columnTypes = []string{"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9,1)", "DECIMAL(9,2)", "DECIMAL(20,4)",
	"DECIMAL(38,0)", "BOOLEAN", "VARCHAR", "BLOB", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"}

// typePairs reads a file with a column of each type as each type of a table: alone, before and
// after a file of the table's type. A value is read exactly or the file is refused, wherever it
// stands.
func (s suite) typePairs(t *testing.T) {
	session := s.openScratch(t)
	root := session.dir
	exact := map[string]int{}
	for i, stored := range fileTypes {
		for j, value := range stored.values {
			name := fmt.Sprintf("v%d_%d.parquet", i, j)
			content := parquetFileOf(t, `[{"n": 1, "v": `+value+`}]`, false, int64Column("n"), field("v", stored.typ))
			require.NoError(t, os.WriteFile(filepath.Join(root, name), content, 0o644))
		}
	}
	for _, want := range columnTypes {
		typ := sqltype.MustParse(want)
		columns := []engine.Column{{Name: "v", Type: typ, Nullable: true}, {Name: "n", Type: sqltype.BigInt, Nullable: true}}
		own := session.write(t, "SELECT NULL::"+want+" AS v, 2::BIGINT AS n", engine.FileLayout{})[0].Name
		for i, stored := range fileTypes {
			for j, value := range stored.values {
				name := fmt.Sprintf("v%d_%d.parquet", i, j)
				var answers []string
				for _, paths := range [][]string{{name}, {name, own}, {own, name}} {
					src := engine.Source{Location: root, Files: engine.NewFileList(columns, true, []engine.FileGroup{{Paths: paths}})}
					rows, err := TryRows(context.Background(), session, engine.Statement{
						SQL: "SELECT v::VARCHAR FROM " + src.Relation() + " WHERE n = 1", Sources: []engine.Source{src}})
					if err != nil {
						require.True(t, failure(t, err).Unreadable(), "%v %s as %s: %v", stored.typ, value, want, withText(err))
						rows = []string{"refused"}
					}
					require.Len(t, rows, 1)
					answers = append(answers, rows[0])
				}
				require.Equal(t, answers[0], answers[1], "%v %s as %s", stored.typ, value, want)
				require.Equal(t, answers[0], answers[2], "%v %s as %s", stored.typ, value, want)
				if answers[0] != "refused" {
					require.Equal(t, plain(strings.Trim(value, `"`), stored.typ), plain(answers[0], nil),
						"%v %s as %s", stored.typ, value, want)
					exact[want]++
				}
			}
		}
	}
	for _, want := range columnTypes {
		require.NotZero(t, exact[want], want)
	}
}

// plain returns a form of a value that equal values share, whatever their types.
func plain(text string, typ arrow.DataType) string {
	if typ == arrow.BinaryTypes.Binary {
		return map[string]string{"MTI=": "12", "XHg0MQ==": `\x41`}[text]
	}
	text = strings.ReplaceAll(text, `\x5C`, `\`) // bytes
	if r, ok := new(big.Rat).SetString(text); ok {
		return r.RatString()
	}
	for _, layout := range []string{"2006-01-02 15:04:05.999999999-07", "2006-01-02 15:04:05.999999999", "2006-01-02"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
	}
	return text
}
