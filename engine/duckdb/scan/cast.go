package scan

import (
	"reflect"
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// castable reports whether a file's column may be read as the table's type: the
// cast keeps every value or fails. It lets in what the Delta protocol calls type
// widening and the spellings that writers have for one type. Fields of structs
// are matched by name, a missing one is NULL.
func castable(have, want sqltype.Type) bool {
	switch from := have.(type) {
	case sqltype.List:
		to, ok := want.(sqltype.List)
		return ok && castable(from.Element, to.Element)
	case sqltype.Map:
		to, ok := want.(sqltype.Map)
		return ok && castable(from.Key, to.Key) && castable(from.Value, to.Value)
	case *sqltype.Struct:
		to, ok := want.(*sqltype.Struct)
		return ok && castableFields(from.Fields, to.Fields)
	case sqltype.Decimal:
		to, ok := want.(sqltype.Decimal)
		return ok && to.Scale >= from.Scale
	case sqltype.Scalar:
		return from == want || castableScalar(from, want)
	}
	return sqltype.Equal(have, want)
}

func castableScalar(from sqltype.Scalar, to sqltype.Type) bool {
	switch from {
	case sqltype.Float:
		return to == sqltype.Double
	case sqltype.JSON:
		return to == sqltype.Varchar
	case sqltype.Date:
		return to == sqltype.Timestamp
	case sqltype.Timestamp, sqltype.TimestampTZ, sqltype.TimestampS, sqltype.TimestampMS: // not TimestampNS: digits would be lost
		// Those without a zone are in UTC, as the session is.
		return to == sqltype.Timestamp || to == sqltype.TimestampTZ
	}
	bits := integerBits(from)
	if bits == 0 {
		return false
	}
	// The cast checks the range. Every INTEGER is exact as a DOUBLE.
	_, isDecimal := to.(sqltype.Decimal)
	return isDecimal || integerBits(to) > 0 || to == sqltype.Double && bits < 64
}

// integerBits returns the size of an integer that a file may hold, 0 for other types.
func integerBits(t sqltype.Type) int {
	if bits, _ := sqltype.IntegerBits(t); bits <= 64 {
		return bits
	}
	return 0
}

// castableFields wants at least one field in common, as the cast does.
func castableFields(have, want []sqltype.Field) bool {
	common := false
	for _, w := range want {
		for _, h := range have {
			if !strings.EqualFold(h.Name, w.Name) {
				continue
			}
			if !castable(h.Type, w.Type) {
				return false
			}
			common = true
		}
	}
	return common
}

// alike reports whether two types are of one kind: both structs, lists, maps, …
func alike(a, b sqltype.Type) bool { return reflect.TypeOf(a) == reflect.TypeOf(b) }
