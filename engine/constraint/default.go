package constraint

import (
	"context"
	"errors"
	"math/big"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Default is the constant value of a column in new rows that do not name it. It is
// immutable and safe for concurrent use.
type Default struct {
	// constant is a literal of the column's type, or NULL.
	constant *expr
}

// ParseDefault parses a user's default for a column of type t: a constant in Spark's
// or DuckDB's SQL that t holds exactly and that Spark's SQL can express. The error is
// a [CheckError] if it is about the text; otherwise it is the parser's.
func ParseDefault(ctx context.Context, parser engine.Parser, t delta.DataType, text string) (Default, error) {
	// A constant that both languages accept means the same in both.
	if d, err := SparkDefault(t, text); err == nil {
		return d, nil
	}
	e, err := builder{}.readDuckDB(ctx, parser, text)
	var refusal *CheckError
	if errors.As(err, &refusal) {
		return Default{}, notConstant
	}
	if err != nil {
		return Default{}, err
	}
	return newDefault(e, t)
}

// SparkDefault parses a default of the log, in Spark's SQL. The error is a
// [CheckError]; other engines may be able to evaluate the default nevertheless.
func SparkDefault(t delta.DataType, text string) (Default, error) {
	e, err := builder{spark: true}.readSpark(text)
	if err != nil {
		return Default{}, err
	}
	return newDefault(e, t)
}

var notConstant = invalid("it is not a constant, such as 'open', 0, true or DATE '2024-01-31'")

func newDefault(e *expr, t delta.DataType) (Default, error) {
	constant := constantOf(e)
	if constant == nil {
		return Default{}, notConstant
	}
	if familyOf(constant.typ) == famText && constant.local != "" {
		return Default{}, invalid("%s", constant.local)
	}
	if constant = convertExactly(constant, t); constant == nil {
		return Default{}, invalid("the type %s cannot hold the value exactly", typeName(t))
	}
	return Default{constant}, nil
}

// IsNull reports whether the default is NULL, as for a column without a default.
func (d Default) IsNull() bool { return d.constant.op == opNull }

// Spark returns the default in Spark's SQL.
func (d Default) Spark() string { return d.constant.spark() }

// DuckDB returns the default in DuckDB's SQL.
func (d Default) DuckDB() string { return d.constant.duckdb("") }

// constantOf evaluates casts and signs of constants. It returns nil if e is not a
// constant.
func constantOf(e *expr) *expr {
	switch e.op {
	case opNull, opLiteral:
		return e
	case opCast:
		if inner := constantOf(e.args[0]); inner != nil {
			return convertExactly(inner, e.typ)
		}
	case opNegate:
		inner := constantOf(e.args[0])
		if inner == nil || inner.op != opLiteral || !numeric(familyOf(inner.typ)) {
			return nil
		}
		negative := *inner
		if digits, ok := strings.CutPrefix(inner.text, "-"); ok {
			negative.text = digits
		} else {
			negative.text = "-" + inner.text
		}
		return &negative
	}
	return nil
}

// convertExactly converts a constant to type t, or returns nil if t does not hold it
// exactly. In a FLOAT or DOUBLE the nearest number counts as exact.
func convertExactly(e *expr, t delta.DataType) *expr {
	from, to := familyOf(e.typ), familyOf(t)
	as := &expr{op: e.op, typ: t, text: e.text}
	switch {
	case e.op == opNull, from == to && (from == famText || from == famBool || from == famDate || from == famInstant || from == famLocal):
		return as
	case from == famText && (to == famDate || to == famInstant || to == famLocal):
		read, err := builder{spark: true}.reread(e, t)
		if err != nil {
			return nil
		}
		return read
	case from == famDate && to == famLocal:
		as.text += " 00:00:00"
		return as
	case numeric(from) && numeric(to):
		text, ok := exactNumber(e, t)
		as.text = text
		if ok {
			return as
		}
	}
	return nil
}

// exactNumber returns the text of a number as a value of type t.
func exactNumber(e *expr, t delta.DataType) (string, bool) {
	switch from, to := familyOf(e.typ), familyOf(t); to {
	case famFloat, famDouble:
		bits := 64
		if to == famFloat {
			bits = 32
		}
		read := bits
		if from == famFloat {
			read = 32 // the nearest FLOAT, which a DOUBLE holds exactly
		}
		v, err := strconv.ParseFloat(e.text, read)
		exact := from != famInt || err == nil && new(big.Rat).SetFloat64(v).Cmp(rational(e.text)) == 0
		return strconv.FormatFloat(v, 'g', -1, bits), err == nil && exact
	case famInt:
		v := rational(e.text)
		if v == nil || from == famFloat || from == famDouble || !v.IsInt() || !v.Num().IsInt64() {
			return "", false
		}
		n := v.Num().Int64()
		bits := map[delta.DataType]int{delta.Byte: 8, delta.Short: 16, delta.Integer: 32, delta.Long: 64}[t]
		_, err := strconv.ParseInt(strconv.FormatInt(n, 10), 10, bits)
		return v.Num().String(), err == nil
	case famDecimal:
		v, d := rational(e.text), t.(delta.Decimal) //nolint:forcetypeassert // of this family
		if v == nil || from == famFloat || from == famDouble {
			return "", false
		}
		scaled := new(big.Rat).Mul(v, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.Scale)), nil)))
		return v.FloatString(d.Scale), scaled.IsInt() && len(new(big.Int).Abs(scaled.Num()).String()) <= d.Precision
	}
	return "", false
}

// rational parses a decimal number; nil if text is anything else.
func rational(text string) *big.Rat {
	if strings.ContainsAny(text, "eE/") {
		return nil
	}
	v, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return v
}

// defaultOf reads the default of a column.
func defaultOf(f delta.Field) (d Default, has bool, err error) {
	text, has, err := f.Default()
	if err != nil || !has {
		return Default{}, has, err
	}
	d, err = SparkDefault(f.Type, text)
	return d, true, err
}

// defaults reads the defaults of the columns. A default that cannot be evaluated is
// recorded and blocks only writes that omit the column. A default of a nested field
// blocks every write.
func (s *Set) defaults() error {
	s.filled = map[string]Default{}
	for _, f := range s.schema.Fields {
		d, has, err := defaultOf(f)
		switch {
		case err != nil:
			s.unfilled = append(s.unfilled, f.Name)
		case has && !d.IsNull():
			s.filled[f.Name] = d
		}
		if member := delta.DefaultBelow(f.Type); member != "" {
			return &delta.FeatureError{Feature: "defaults of members of structs", Write: true, Reason: f.Name + "." + member}
		}
	}
	return nil
}

// Default returns SQL for the value of a column in new rows that do not name it. False
// means NULL.
func (s *Set) Default(column string) (sql string, ok bool) {
	d, ok := s.filled[column]
	if !ok {
		return "", false
	}
	return d.DuckDB(), true
}

// Unfilled returns the columns whose default cannot be evaluated here. Every new row
// must name them.
func (s *Set) Unfilled() []string { return s.unfilled }
