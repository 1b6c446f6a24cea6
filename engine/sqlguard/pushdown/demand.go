package pushdown

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/constant"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Conjunct is a condition of the statement on one table: it compares a column with
// constants of its type. Some constants may be parameters, which are known with the
// arguments.
type Conjunct struct {
	column     engine.Column
	test       test
	comparands []comparand
}

// test is the comparison of a conjunct.
type test struct {
	op engine.ConditionOp
	// between means two comparisons, with a lower and an upper bound.
	between bool
}

// comparand is a constant, or a parameter that an argument replaces.
type comparand struct {
	value     constant.Value
	parameter *sqltree.Node
}

// newConjunct returns false if a node is neither a parameter nor a constant of the column's
// type.
func newConjunct(col engine.Column, is test, nodes ...*sqltree.Node) (Conjunct, bool) {
	c := Conjunct{column: col, test: is, comparands: make([]comparand, len(nodes))}
	for i, n := range nodes {
		if n.Is("class", "PARAMETER") {
			c.comparands[i].parameter = n
			continue
		}
		v, ok := constant.For(col, n)
		if !ok {
			return Conjunct{}, false
		}
		c.comparands[i].value = v
	}
	return c, true
}

// Demand is a conjunct with all constants, in two forms.
type Demand struct {
	// SQL is the condition over the alias of barriers, with parameters.
	SQL string
	// condition is the form for pruning. It is empty if a constant has no text that every
	// reader understands.
	condition engine.Condition
}

// Demands fills arguments into conjuncts. It omits a conjunct whose argument is not a
// constant of the column's type. The values are added to bound and never appear in the SQL.
// named returns a column in SQL, or false if the engine must not compare the column.
func Demands(conjuncts []Conjunct, values constant.Arguments, bound Parameters, named func(engine.Column) (string, bool)) []Demand {
	var out []Demand
	for _, c := range conjuncts {
		name, ok := named(c.column)
		if !ok {
			continue
		}
		if d, ok := c.with(name, values, bound); ok {
			out = append(out, d)
		}
	}
	return out
}

// Condition returns the conjunction of the demands for pruning.
func Condition(demands []Demand) engine.Condition {
	parts := make([]engine.Condition, len(demands))
	for i, d := range demands {
		parts[i] = d.condition
	}
	return engine.AllOf(parts...)
}

// with fills in the arguments. name is the column in SQL.
func (c Conjunct) with(name string, values constant.Arguments, bound Parameters) (Demand, bool) {
	constants := make([]constant.Value, len(c.comparands))
	for i, o := range c.comparands {
		constants[i] = o.value
		if o.parameter == nil {
			continue
		}
		v, ok := values.Of(o.parameter).For(c.column)
		if !ok {
			return Demand{}, false
		}
		constants[i] = v
	}
	for i, o := range c.comparands {
		if o.parameter != nil {
			constants[i].SQL = "CAST($" + bound.add(constants[i].Bound()) + " AS " + c.column.Type.String() + ")"
		}
	}
	return c.Of(name, constants), true
}

var signs = map[engine.ConditionOp]string{
	engine.ConditionEqual: "=", engine.ConditionLess: "<", engine.ConditionGreater: ">",
	engine.ConditionLessOrEqual: "<=", engine.ConditionGreaterOrEqual: ">=",
}

// Of returns the conjunct with its constants.
func (c Conjunct) Of(name string, constants []constant.Value) Demand {
	switch {
	case c.test.between:
		low, high := constants[0], constants[1]
		return Demand{
			SQL: name + " BETWEEN " + low.SQL + " AND " + high.SQL,
			condition: engine.AllOf(valuesCondition(engine.ConditionGreaterOrEqual, c.column, low),
				valuesCondition(engine.ConditionLessOrEqual, c.column, high)),
		}
	case c.test.op == engine.ConditionIsNull:
		return Demand{name + " IS NULL", engine.Condition{Op: c.test.op, Column: c.column.Name}}
	case c.test.op == engine.ConditionIsNotNull:
		return Demand{name + " IS NOT NULL", engine.Condition{Op: c.test.op, Column: c.column.Name}}
	case c.test.op == engine.ConditionIn:
		items := make([]string, len(constants))
		for i, v := range constants {
			items[i] = v.SQL
		}
		return Demand{name + " IN (" + strings.Join(items, ", ") + ")", valuesCondition(c.test.op, c.column, constants...)}
	}
	return Demand{name + " " + signs[c.test.op] + " " + constants[0].SQL, valuesCondition(c.test.op, c.column, constants[0])}
}

// valuesCondition returns an empty condition if one of the values has no text.
func valuesCondition(op engine.ConditionOp, col engine.Column, values ...constant.Value) engine.Condition {
	texts := make([]engine.ConditionValue, len(values))
	for i, v := range values {
		if !v.HasText {
			return engine.Condition{}
		}
		texts[i] = v.Text
	}
	return engine.Condition{Op: op, Column: col.Name, Values: texts}
}

// EqualColumn returns the column that must equal one constant or argument, if the conjunct
// demands this.
func (c Conjunct) EqualColumn() (engine.Column, bool) {
	return c.column, c.test.op == engine.ConditionEqual && !c.test.between && len(c.comparands) == 1
}
