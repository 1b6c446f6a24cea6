package sqlguard

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// maxPushed caps the constants of an IN list that moves into a barrier.
const maxPushed = 1000

// conjuncts finds, for every table reference, the conditions of the statement
// that may also be evaluated while its filtered copy is made. The statement
// keeps them, so leaving one out is always right.
//
// A condition moves when it compares a bare column with constants of that
// column's type, stands in the top-level AND of WHERE or ON, and belongs to the
// table without doubt. It may then drop rows only that the statement drops
// anyway; outer joins therefore take part only with conditions that NULL does
// not fulfil.
func (q *Query) conjuncts(relations []Relation) [][]string {
	out := make([][]string, len(q.tables))
	index := map[*tableUse]int{}
	for i, t := range q.tables {
		index[t] = i
	}
	for _, sel := range q.selects {
		if len(sel.tables) == 0 || sel.node.child("sample") != nil {
			continue
		}
		p := &pusher{q: q, relations: relations, index: index, out: out, sel: sel, inner: map[*node]*tableUse{}}
		for _, t := range sel.tables {
			p.inner[t.node] = t
		}
		p.aliases()
		p.visit(sel.node.child("from_table"), topConjuncts(sel.node.child("where_clause")), false)
	}
	return out
}

type pusher struct {
	q         *Query
	relations []Relation
	index     map[*tableUse]int
	out       [][]string
	sel       *selectUse
	inner     map[*node]*tableUse
	ambiguous map[string]bool // names that may be something else than a column
}

// aliases collects the names of the SELECT's own results: WHERE may mean these.
func (p *pusher) aliases() {
	p.ambiguous = map[string]bool{}
	for _, e := range p.sel.node.list("select_list") {
		p.ambiguous[strings.ToLower(e.(*node).str("alias"))] = true
	}
	p.usingNames(p.sel.node.child("from_table"))
}

func (p *pusher) usingNames(ref *node) {
	if !ref.is("type", "JOIN") {
		return
	}
	for _, c := range ref.strings("using_columns") {
		p.ambiguous[strings.ToLower(c)] = true
	}
	p.usingNames(ref.child("left"))
	p.usingNames(ref.child("right"))
}

// topConjuncts splits a condition at its top-level ANDs.
func topConjuncts(e *node) []*node {
	if e == nil {
		return nil
	}
	if e.is("type", "CONJUNCTION_AND") {
		var out []*node
		for _, c := range e.list("children") {
			out = append(out, topConjuncts(c.(*node))...)
		}
		return out
	}
	return []*node{e}
}

// visit carries conditions down the joins to the tables. nullable says that the
// join above may put NULLs in the place of this side.
func (p *pusher) visit(ref *node, conds []*node, nullable bool) {
	switch {
	case ref.is("type", "BASE_TABLE"):
		if t := p.inner[ref]; t != nil {
			p.table(t, conds, nullable)
		}
	case ref.is("type", "JOIN"):
		left, right := ref.child("left"), ref.child("right")
		on := topConjuncts(ref.child("condition"))
		if ref.is("ref_type", "CROSS") {
			p.visit(left, conds, nullable)
			p.visit(right, conds, nullable)
			return
		}
		if !ref.is("ref_type", "REGULAR") {
			if ref.is("ref_type", "ASOF") && ref.is("join_type", "INNER") {
				p.visit(left, conds, nullable) // the right side's best match must stay
			}
			return
		}
		both := append(append([]*node(nil), conds...), on...)
		switch ref.str("join_type") {
		case "INNER":
			p.visit(left, both, nullable)
			p.visit(right, both, nullable)
		case "LEFT":
			p.visit(left, conds, nullable)
			p.visit(right, both, true)
		case "RIGHT":
			p.visit(left, both, true)
			p.visit(right, conds, nullable)
		case "FULL":
			p.visit(left, conds, true)
			p.visit(right, conds, true)
		case "SEMI", "ANTI":
			p.visit(left, conds, nullable)
		}
	}
}

func (p *pusher) table(t *tableUse, conds []*node, nullable bool) {
	i := p.index[t]
	r := p.relations[i]
	if t.sampled || r.KeepWhole || r.Inline != "" || t.renamed {
		return
	}
	for _, c := range conds {
		if sql, ok := p.condition(t, r, c, nullable); ok {
			p.out[i] = append(p.out[i], sql)
		}
	}
}

// column returns the column of t that e names without doubt.
func (p *pusher) column(t *tableUse, r Relation, e *node) (engine.Column, bool) {
	if !e.is("class", "COLUMN_REF") {
		return engine.Column{}, false
	}
	parts := e.strings("column_names")
	name := strings.ToLower(parts[len(parts)-1])
	switch len(parts) {
	case 1:
		if p.ambiguous[name] || p.owners(name) != 1 {
			return engine.Column{}, false
		}
	case 2:
		if !strings.EqualFold(parts[0], t.Alias) || p.named(parts[0]) != 1 {
			return engine.Column{}, false
		}
	default:
		return engine.Column{}, false
	}
	if _, masked := r.ColumnExpr[name]; masked {
		return engine.Column{}, false
	}
	for _, c := range r.Columns {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return engine.Column{}, false
}

// owners counts the tables of this FROM that have a column.
func (p *pusher) owners(column string) int {
	n := 0
	for _, t := range p.sel.tables {
		for _, c := range p.relations[p.index[t]].Columns {
			if strings.EqualFold(c.Name, column) {
				n++
			}
		}
	}
	return n
}

// named counts the items of this FROM that answer to an alias.
func (p *pusher) named(alias string) int { return countAlias(p.sel.node.child("from_table"), alias) }

func countAlias(ref *node, alias string) int {
	if ref.is("type", "JOIN") {
		return countAlias(ref.child("left"), alias) + countAlias(ref.child("right"), alias)
	}
	name := ref.str("alias")
	if name == "" {
		name = ref.str("table_name")
	}
	if strings.EqualFold(name, alias) {
		return 1
	}
	return 0
}

var flipped = map[string]string{
	"COMPARE_EQUAL": "COMPARE_EQUAL", "COMPARE_LESSTHAN": "COMPARE_GREATERTHAN", "COMPARE_GREATERTHAN": "COMPARE_LESSTHAN",
	"COMPARE_LESSTHANOREQUALTO": "COMPARE_GREATERTHANOREQUALTO", "COMPARE_GREATERTHANOREQUALTO": "COMPARE_LESSTHANOREQUALTO",
}

var compareSQL = map[string]string{
	"COMPARE_EQUAL": "=", "COMPARE_LESSTHAN": "<", "COMPARE_GREATERTHAN": ">",
	"COMPARE_LESSTHANOREQUALTO": "<=", "COMPARE_GREATERTHANOREQUALTO": ">=",
}

// condition returns the SQL of a condition over the barrier's alias.
func (p *pusher) condition(t *tableUse, r Relation, e *node, nullable bool) (string, bool) {
	switch e.str("class") {
	case "COMPARISON":
		op, left, right := e.str("type"), e.child("left"), e.child("right")
		if !left.is("class", "COLUMN_REF") {
			op, left, right = flipped[op], right, left
		}
		sign := compareSQL[op]
		col, ok := p.column(t, r, left)
		if !ok || sign == "" {
			return "", false
		}
		v, ok := typedLiteral(col, right)
		return barrierColumn(col.Name) + " " + sign + " " + v, ok
	case "BETWEEN":
		col, ok := p.column(t, r, e.child("input"))
		if !ok {
			return "", false
		}
		low, okLow := typedLiteral(col, e.child("lower"))
		high, okHigh := typedLiteral(col, e.child("upper"))
		return barrierColumn(col.Name) + " BETWEEN " + low + " AND " + high, okLow && okHigh
	case "OPERATOR":
		return p.operator(t, r, e, nullable)
	}
	return "", false
}

func (p *pusher) operator(t *tableUse, r Relation, e *node, nullable bool) (string, bool) {
	args := e.list("children")
	if len(args) == 0 {
		return "", false
	}
	col, ok := p.column(t, r, args[0].(*node))
	if !ok {
		return "", false
	}
	name := barrierColumn(col.Name)
	switch e.str("type") {
	case "OPERATOR_IS_NULL":
		return name + " IS NULL", !nullable
	case "OPERATOR_IS_NOT_NULL":
		return name + " IS NOT NULL", true
	case "COMPARE_IN":
		if len(args) < 2 || len(args) > maxPushed {
			return "", false
		}
		items := make([]string, 0, len(args)-1)
		for _, a := range args[1:] {
			v, ok := typedLiteral(col, a.(*node))
			if !ok {
				return "", false
			}
			items = append(items, v)
		}
		return name + " IN (" + strings.Join(items, ", ") + ")", true
	}
	return "", false
}

// intBits gives the range of the integer types; unsigned ones are negative.
var intBits = map[string]int{
	"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63,
	"UTINYINT": -8, "USMALLINT": -16, "UINTEGER": -32, "UBIGINT": -64,
}

// typedLiteral prints a constant as a literal of exactly the column's type, or
// reports that it has none.
func typedLiteral(col engine.Column, e *node) (string, bool) {
	lit, ok := constantOf(e)
	if !ok {
		return "", false
	}
	typ := col.Type
	switch {
	case intBits[typ] != 0:
		v, isInt := new(big.Int).SetString(lit.text, 10)
		if lit.family != litNumber || !isInt || !inRange(v, intBits[typ]) {
			return "", false
		}
		return "CAST('" + v.String() + "' AS " + typ + ")", true
	case typ == "DOUBLE":
		if lit.family != litNumber {
			return "", false
		}
		return "CAST(" + lit.text + " AS DOUBLE)", true
	case strings.HasPrefix(typ, "DECIMAL("):
		return decimalLiteral(typ, lit)
	case typ == "VARCHAR":
		return engine.QuoteString(lit.text), lit.family == litText && !e.is("class", "CAST")
	case typ == "BOOLEAN":
		word := map[string]string{"t": "true", "f": "false", "true": "true", "false": "false"}[lit.text]
		return word, lit.family == litBool && word != ""
	case typ == "DATE":
		okFamily := lit.family == litDate || lit.family == litText && e.is("class", "CONSTANT")
		return "DATE '" + lit.text + "'", okFamily && strictDate(lit.text)
	case typ == "TIMESTAMP":
		okFamily := lit.family == litDate || lit.family == litTimestamp || lit.family == litText && e.is("class", "CONSTANT")
		ts, ok := strictTimestamp(lit.text)
		if lit.family == litDate && !strictDate(lit.text) {
			return "", false
		}
		return "TIMESTAMP '" + ts + "'", ok && okFamily
	case typ == "TIMESTAMP WITH TIME ZONE":
		return instantLiteral(lit, e.is("class", "CONSTANT"))
	}
	return "", false
}

// instantLiteral prints a point in time. Without an offset it keeps the meaning
// that it has in the statement: the time zone of the session that both run in.
func instantLiteral(lit literal, bare bool) (string, bool) {
	switch {
	case lit.family == litDate && !strictDate(lit.text):
		return "", false
	case lit.family == litText && bare, lit.family == litDate, lit.family == litTimestamp, lit.family == litTimestampTZ:
	default:
		return "", false
	}
	text, ok := strictTimestamp(lit.text)
	if !ok && lit.family != litTimestamp {
		text, ok = strictInstant(lit.text)
	}
	return "CAST('" + text + "' AS TIMESTAMP WITH TIME ZONE)", ok
}

func inRange(v *big.Int, bits int) bool {
	if bits < 0 {
		return v.Sign() >= 0 && v.BitLen() <= -bits
	}
	if v.Sign() < 0 {
		v = new(big.Int).Not(v) // -2^n fits, as 2^n-1 does
	}
	return v.BitLen() <= bits
}

// decimalLiteral prints a number that a DECIMAL(p,s) holds exactly.
func decimalLiteral(typ string, lit literal) (string, bool) {
	width, scale, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(typ, "DECIMAL("), ")"), ",")
	p, errP := strconv.Atoi(strings.TrimSpace(width))
	s, errS := strconv.Atoi(strings.TrimSpace(scale))
	if !ok || errP != nil || errS != nil || lit.family != litNumber {
		return "", false
	}
	whole, frac, _ := strings.Cut(strings.TrimPrefix(lit.text, "-"), ".")
	whole, frac = strings.TrimLeft(whole, "0"), strings.TrimRight(frac, "0")
	if len(whole) > p-s || len(frac) > s {
		return "", false
	}
	return "CAST('" + lit.text + "' AS " + typ + ")", true
}
