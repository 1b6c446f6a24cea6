package harness

import (
	"strconv"
	"strings"
)

// EveryType is a table with each type that Delta has, its bounds, NULL and text
// that every format has to escape.
const EveryType = `SELECT * FROM (VALUES
	(1, 9223372036854775807::BIGINT, (-2147483648)::INTEGER, 32767::SMALLINT, (-128)::TINYINT, 1.5::FLOAT, 'nan'::DOUBLE, true, 'a,"b"' || chr(10) || 'ü🙂', 'abc'::BLOB, DATE '0001-01-01', TIMESTAMPTZ '2024-02-29 23:59:59.123456+00', TIMESTAMP '1969-12-31 23:59:59.5', 12345678901234567890.123456789::DECIMAL(38,9), [1,NULL,3]::BIGINT[], MAP {'k': 1.25::DOUBLE}, {'a': 1::INTEGER, 'b': 'x'}),
	(2, -9223372036854775808, 2147483647, -32768, 127, -0.0, '-infinity', false, '', '\x00\xFF'::BLOB, '9999-12-31', '1900-01-01 00:00:00+00', '2262-04-11 23:47:16', -0.000000001, [], MAP {}, {'a': NULL, 'b': ''}),
	(3, 9007199254740993, 0, 0, 0, 3.4028234e38, 1e-300, NULL, 'null', ''::BLOB, '2024-02-29', '2024-01-01 12:00:00+02', '2024-01-01 00:00:00', 0, [5], MAP {'': 2.0, 'z': NULL}, {'a': 7, 'b': NULL}),
	(4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL))
	t(id, l, i, s, b, f, d, bool, str, bin, dat, ts, ntz, dec, arr, map, st)`

// EveryColumn are the columns of [EveryType].
var EveryColumn = []Column{
	{"id", "long"}, {"l", "long"}, {"i", "integer"}, {"s", "short"}, {"b", "byte"}, {"f", "float"}, {"d", "double"}, {"bool", "boolean"},
	{"str", "string"},
	{"bin", "binary"}, {"dat", "date"}, {"ts", "timestamp"}, {"ntz", "timestamp_ntz"}, {"dec", "decimal(38,9)"},
	{"arr", "array<long>"}, {"map", "map<string,double>"}, {"st", "struct<a:integer,b:string>"},
}

// ManyResults is a list of n items, where # is the number of the item.
func ManyResults(n int, item string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = strings.ReplaceAll(item, "#", strconv.Itoa(i))
	}
	return strings.Join(out, ", ")
}
