package constraint

import (
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// function describes a function that an expression may call. It is deterministic and has no side
// effects, and its result is not much larger than its arguments.
type function struct {
	// args are the families of the arguments, by position; if more is set, the last one may be
	// repeated.
	args []families
	more bool
	// same requires all arguments to have the type of the first.
	same bool
	// result is the type of the result; nil is the type of the arguments.
	result delta.DataType
	// spark reports that Spark's SQL and that of delta-rs have the function with the same meaning.
	spark bool
}

type families uint

func of(list ...family) families {
	var set families
	for _, f := range list {
		set |= 1 << f
	}
	return set
}

func (s families) has(f family) bool { return s&(1<<f) != 0 }

var (
	texts    = of(famText)
	ints     = of(famInt)
	numbers  = of(famInt, famDecimal, famFloat, famDouble)
	ordered  = of(famInt, famDecimal, famText, famDate)
	anyValue = ^families(0)
	days     = of(famDate, famLocal)
)

func textTo(t delta.DataType) function { return function{args: []families{texts}, result: t} }
func twoTextsTo(t delta.DataType) function {
	return function{args: []families{texts, texts}, result: t}
}
func numberTo(t delta.DataType) function { return function{args: []families{numbers}, result: t} }

// functions are the allowed functions by their names in DuckDB. Spark has upper and lower too, but
// with other Unicode tables, and its trim removes other white space.
var functions = map[string]function{
	"abs":               {args: []families{of(famInt, famDecimal, famDouble)}, spark: true},
	"length":            {args: []families{texts}, result: delta.Integer, spark: true},
	"coalesce":          {args: []families{anyValue}, more: true, same: true, spark: true},
	"greatest":          {args: []families{ordered, ordered}, more: true, same: true, spark: true},
	"least":             {args: []families{ordered, ordered}, more: true, same: true, spark: true},
	"year":              {args: []families{days}, result: delta.Integer, spark: true},
	"month":             {args: []families{days}, result: delta.Integer, spark: true},
	"day":               {args: []families{days}, result: delta.Integer, spark: true},
	"quarter":           {args: []families{days}, result: delta.Integer},
	"lower":             textTo(delta.String),
	"upper":             textTo(delta.String),
	"trim":              textTo(delta.String),
	"ltrim":             textTo(delta.String),
	"rtrim":             textTo(delta.String),
	"strlen":            textTo(delta.Long),
	"ascii":             textTo(delta.Integer),
	"reverse":           textTo(delta.String),
	"contains":          twoTextsTo(delta.Boolean),
	"starts_with":       twoTextsTo(delta.Boolean),
	"prefix":            twoTextsTo(delta.Boolean),
	"ends_with":         twoTextsTo(delta.Boolean),
	"suffix":            twoTextsTo(delta.Boolean),
	"regexp_matches":    twoTextsTo(delta.Boolean),
	"regexp_full_match": twoTextsTo(delta.Boolean),
	"strpos":            twoTextsTo(delta.Long),
	"concat":            {args: []families{texts}, more: true, result: delta.String},
	"||":                {args: []families{texts, texts}, result: delta.String},
	"substring":         {args: []families{texts, ints, ints}, result: delta.String},
	"left":              {args: []families{texts, ints}, result: delta.String},
	"right":             {args: []families{texts, ints}, result: delta.String},
	"nullif":            {args: []families{ordered, ordered}, same: true},
	"round":             {args: []families{numbers, ints}, result: delta.Double},
	"floor":             numberTo(delta.Double),
	"ceil":              numberTo(delta.Double),
	"sign":              numberTo(delta.Integer),
	"sqrt":              numberTo(delta.Double),
	"ln":                numberTo(delta.Double),
	"log10":             numberTo(delta.Double),
	"exp":               numberTo(delta.Double),
	"pow":               {args: []families{numbers, numbers}, result: delta.Double},
	"isnan":             {args: []families{of(famFloat, famDouble)}, result: delta.Boolean},
	"isfinite":          {args: []families{of(famFloat, famDouble)}, result: delta.Boolean},
	"isinf":             {args: []families{of(famFloat, famDouble)}, result: delta.Boolean},
	"array_length":      {args: []families{of(famOther)}, result: delta.Long},
	"ilike":             twoTextsTo(delta.Boolean),
}

// otherNames are other names of the same functions.
var otherNames = map[string]string{
	"char_length": "length", "character_length": "length", "len": "length", "substr": "substring", "power": "pow",
	"ceiling": "ceil", "startswith": "starts_with", "dayofmonth": "day", "~~*": "ilike", "instr": "strpos",
}

// call makes a function call.
func (b builder) call(name string, args []*expr) (*expr, error) {
	name = strings.ToLower(name)
	if other, ok := otherNames[name]; ok {
		name = other
	}
	f, known := functions[name]
	if !known || b.spark && !f.spark {
		return nil, invalid("the function %.50q is not served here", name)
	}
	least := len(f.args)
	if name == "round" || name == "substring" {
		least-- // the last is optional
	}
	if len(args) < least || len(args) > len(f.args) && !f.more {
		return nil, invalid("%s with %d arguments", name, len(args))
	}
	e := &expr{op: opCall, text: name, typ: f.result, args: args}
	for i, a := range args {
		if want := f.args[min(i, len(f.args)-1)]; !want.has(familyOf(a.typ)) && familyOf(a.typ) != famNull {
			return nil, invalid("%s of %s", name, typeName(a.typ))
		}
		if familyOf(a.typ) == famLocal {
			e = b.note(e, "a time without time zone")
		}
	}
	if name == "ilike" {
		if err := checkPattern(args[1], nil); err != nil {
			return nil, err
		}
	}
	if !f.spark {
		e = b.note(e, "the function "+name)
	}
	if f.result != nil && !f.same {
		return e, nil
	}
	t, err := b.unify(name, args)
	if f.result == nil {
		e.typ = t
	}
	return e, err
}

// part makes EXTRACT(name FROM value).
func (b builder) part(name string, value *expr) (*expr, error) {
	switch name = strings.ToLower(name); name {
	case "year", "month", "day", "quarter":
		return b.call(name, []*expr{value})
	}
	return nil, invalid("the part %.50q of a time is not served here", name)
}

// cast makes a cast. Between times with and without a zone it is refused, because the result would
// depend on the session.
func (b builder) cast(e *expr, t delta.DataType) (*expr, error) {
	from, to := familyOf(e.typ), familyOf(t)
	if from == famText && e.op == opLiteral {
		switch to {
		case famDate, famInstant, famLocal:
			return b.reread(e, t)
		case famBool, famInt, famDecimal, famDouble:
			return b.parsed(e, t)
		case famFloat:
			if b.spark {
				return b.parsed(e, t)
			}
		}
	}
	as := &expr{op: opCast, typ: t, args: []*expr{e}}
	switch {
	case delta.EqualTypes(e.typ, t):
		return e, nil
	case from == famInt && to == famInt && wider(e.typ, t) == t, from == famInt && to == famDouble,
		from == famFloat && to == famDouble, familyOf(e.typ) == famNull && to != famOther:
		return as, nil
	case from == famInt && to == famDecimal && digits(asDecimal(e), t) == t.(delta.Decimal).Precision,
		from == famDecimal && to == famDecimal && digits(e.typ, t) == t.(delta.Decimal).Precision:
		return as, nil
	case b.spark, from == famOther, to == famOther, to == famBinary, from == famBinary, from == famInstant, to == famInstant:
		return nil, invalid("a cast of %s to %s", typeName(e.typ), typeName(t))
	}
	return b.note(as, "a cast of "+typeName(e.typ)+" to "+typeName(t)), nil
}

// parsed converts a constant text to a boolean or a number.
func (b builder) parsed(e *expr, t delta.DataType) (*expr, error) {
	bad := invalid("the text '%.40s' is not a %s", e.text, typeName(t))
	if familyOf(t) == famBool {
		switch strings.ToLower(e.text) {
		case "t", "true":
			return b.boolean(true), nil
		case "f", "false":
			return b.boolean(false), nil
		}
		return nil, bad
	}
	switch familyOf(t) {
	case famDouble:
		return b.double(e.text)
	case famFloat:
		v, err := strconv.ParseFloat(e.text, 32)
		if err != nil {
			return nil, bad
		}
		return &expr{op: opLiteral, typ: t, text: strconv.FormatFloat(v, 'g', -1, 32)}, nil
	}
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(e.text, "-"), ".")
	if whole+fraction == "" || !allDigits(whole+fraction) {
		return nil, bad
	}
	n, err := b.number(e.text)
	if err != nil || digits(literalDecimal(n), asDecimal(&expr{typ: t})) > asDecimal(&expr{typ: t}).Precision {
		return nil, bad
	}
	if familyOf(t) == famInt && familyOf(n.typ) != famInt {
		return nil, bad
	}
	n.typ = t
	return n, nil
}

// literalDecimal returns the smallest type that holds the number.
func literalDecimal(n *expr) delta.Decimal {
	if t, ok := n.typ.(delta.Decimal); ok {
		return t
	}
	return delta.Decimal{Precision: len(strings.TrimPrefix(n.text, "-"))}
}
