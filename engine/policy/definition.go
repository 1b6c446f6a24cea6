package policy

import "encoding/json"

// Kind is the kind of thing that a policy governs.
type Kind string

// The kinds.
const (
	// KindRLS filters rows.
	KindRLS Kind = "rls"
	// KindCLS hides a column.
	KindCLS Kind = "cls"
	// KindMask masks a column.
	KindMask Kind = "mask"
)

// Valid reports whether k is one of the kinds.
func (k Kind) Valid() bool { return k == KindRLS || k == KindCLS || k == KindMask }

// Effect is whether a policy shows or hides the rows that it matches.
type Effect string

// The effects.
const (
	Permit Effect = "permit"
	Forbid Effect = "forbid"
)

// Op is an operator of a definition.
type Op string

// The operators.
const (
	OpEq         Op = "eq"
	OpNeq        Op = "neq"
	OpLt         Op = "lt"
	OpLte        Op = "lte"
	OpGt         Op = "gt"
	OpGte        Op = "gte"
	OpIn         Op = "in"
	OpNotIn      Op = "not_in"
	OpLike       Op = "like"
	OpStartsWith Op = "starts_with"
	OpContains   Op = "contains"
	OpIsNull     Op = "is_null"
	OpIsNotNull  Op = "is_not_null"
)

// The masks of a policy of kind mask. None means [MaskNull].
const (
	// MaskNull shows NULL instead of every value.
	MaskNull = "null"
	// MaskHash shows the HMAC-SHA-256 of the value under a secret of the table,
	// in hexadecimal digits: equal values stay equal.
	MaskHash = "hash"
	// MaskLast4 shows the last four characters of longer texts.
	MaskLast4 = "last4"
	// MaskYear shows the beginning of a date's or timestamp's year, in UTC.
	MaskYear = "year"
)

// The limits of a definition.
const (
	// MaxDepth bounds the nesting of a condition; a single test has depth 1.
	MaxDepth = 8
	// MaxLeaves bounds the tests of a condition.
	MaxLeaves = 64
	// MaxListValues bounds the values of in and not_in, and the elements of an
	// attribute used as a list.
	MaxListValues = 1000
	// MaxStringBytes bounds one string value.
	MaxStringBytes = 4096
)

// Definition is a policy as a tree. Its JSON form is that of the API; [Decode] decodes it strictly.
type Definition struct {
	Effect  Effect  `json:"effect"`
	Subject Subject `json:"subject"`
	// Condition selects rows; nil means all rows.
	Condition *Condition `json:"condition"`
	// Mask is how a policy of kind mask shows the column; nil means [MaskNull].
	Mask *string `json:"mask,omitempty"`
}

// Subject selects users. Exactly one of Everyone, Role and Attribute is set.
type Subject struct {
	Everyone  *bool   `json:"everyone"`
	Role      *string `json:"role"`
	Attribute *string `json:"attribute"`
	Op        *Op     `json:"op"`
	// Value is the value to compare the attribute with. Without it the subject is
	// a row filter: the policy's column compared with the attribute.
	// It holds nil, bool, string, json.Number, or a slice of the last three.
	Value any `json:"value"`
}

// Condition selects rows: a test (Op with Value or Attribute) or exactly one
// of And, Or, Not.
type Condition struct {
	// Column defaults to the policy's columnName.
	Column *string `json:"column,omitempty"`
	Op     Op      `json:"op,omitempty"`
	// Value holds bool, string, json.Number, or a slice of those.
	Value any `json:"value,omitempty"`
	// Attribute names the user attribute to compare with.
	Attribute *string     `json:"attribute,omitempty"`
	And       []Condition `json:"and,omitempty"`
	Or        []Condition `json:"or,omitempty"`
	Not       *Condition  `json:"not,omitempty"`
}

// UnmarshalJSON decodes strictly; see [Decode].
func (d *Definition) UnmarshalJSON(raw []byte) error {
	got, err := Decode(raw)
	if err != nil {
		return err
	}
	*d = got
	return nil
}

var _ json.Unmarshaler = (*Definition)(nil)

// NeedsOperand reports whether op has an operand.
func (op Op) NeedsOperand() bool { return op != OpIsNull && op != OpIsNotNull }

// list reports whether op compares with a list.
func (op Op) list() bool { return op == OpIn || op == OpNotIn }

// ordered reports whether op needs an order of values.
func (op Op) ordered() bool { return op == OpLt || op == OpLte || op == OpGt || op == OpGte }

// pattern reports whether op matches text.
func (op Op) pattern() bool { return op == OpLike || op == OpStartsWith || op == OpContains }

func (op Op) valid() bool {
	switch op {
	case OpEq, OpNeq, OpIsNull, OpIsNotNull:
		return true
	}
	return op.list() || op.ordered() || op.pattern()
}

// Opposite returns the operator that is true where op is false, or "" if there is none.
func (op Op) Opposite() Op { return opposite[op] }

var opposite = map[Op]Op{
	OpEq: OpNeq, OpNeq: OpEq, OpLt: OpGte, OpGte: OpLt, OpGt: OpLte, OpLte: OpGt,
	OpIn: OpNotIn, OpNotIn: OpIn, OpIsNull: OpIsNotNull, OpIsNotNull: OpIsNull,
}

// Mirrored returns the comparison that is equivalent after the sides are exchanged.
func (op Op) Mirrored() Op { return mirrored[op] }

var mirrored = map[Op]Op{OpEq: OpEq, OpNeq: OpNeq, OpLt: OpGt, OpGt: OpLt, OpLte: OpGte, OpGte: OpLte}
