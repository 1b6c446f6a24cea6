package sqlguard

import (
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// conjunct is one condition of the statement on one table: a column compared
// with constants of its type, some of which may be known with the arguments only.
type conjunct struct {
	column     engine.Column
	test       test
	comparands []comparand
}

// test is how a conjunct compares.
type test struct {
	op engine.ConditionOp
	// between stands for two comparisons, with a lower and an upper bound.
	between bool
}

// comparand is a constant, or the parameter that one will be given for.
type comparand struct {
	value     columnValue
	parameter *node
}

// newConjunct is false when something is neither a parameter nor a constant of
// the column's type.
func newConjunct(col engine.Column, is test, nodes ...*node) (conjunct, bool) {
	c := conjunct{column: col, test: is, comparands: make([]comparand, len(nodes))}
	for i, n := range nodes {
		if n.is("class", "PARAMETER") {
			c.comparands[i].parameter = n
			continue
		}
		v, ok := constantFor(col, n)
		if !ok {
			return conjunct{}, false
		}
		c.comparands[i].value = v
	}
	return c, true
}

// demand is a conjunct whose constants are all known, in two forms.
type demand struct {
	// sql is the condition over the barrier's alias, with the parameters args.
	sql string
	// condition is what pruning may know of it: it says nothing where a
	// constant has no text that every reader understands.
	condition engine.Condition
}

// demandsOf fills arguments into conjuncts. It omits a conjunct whose argument is not
// a constant of the column's type, as it does for such a literal. The values are added
// to bound and never appear in the SQL. named returns a column in SQL, or false if the
// engine must not compare the column.
func demandsOf(conjuncts []conjunct, values argValues, bound boundArgs, named func(engine.Column) (string, bool)) []demand {
	var out []demand
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

// conditionOf is what all of the demands ask of a row.
func conditionOf(demands []demand) engine.Condition {
	parts := make([]engine.Condition, len(demands))
	for i, d := range demands {
		parts[i] = d.condition
	}
	return engine.AllOf(parts...)
}

// with fills in the arguments. name is the column in SQL.
func (c conjunct) with(name string, values argValues, bound boundArgs) (demand, bool) {
	constants := make([]columnValue, len(c.comparands))
	for i, o := range c.comparands {
		constants[i] = o.value
		if o.parameter == nil {
			continue
		}
		v, ok := values.of(o.parameter).constantFor(c.column)
		if !ok {
			return demand{}, false
		}
		constants[i] = v
	}
	for i, o := range c.comparands {
		if o.parameter != nil {
			constants[i].sql = "CAST($" + bound.add(constants[i].bound()) + " AS " + c.column.Type + ")"
		}
	}
	return c.of(name, constants), true
}

// constantFor reads the argument as a constant of exactly the column's type. Of
// doubles the engine rounds a text in another way than a number.
func (a argValue) constantFor(col engine.Column) (columnValue, bool) {
	if !a.hasLiteral || col.Type == "DOUBLE" {
		return columnValue{}, false
	}
	v, ok := literalFor(col, a.lit, true)
	v.instant = col.Type == "TIMESTAMP WITH TIME ZONE"
	return v, ok
}

var signs = map[engine.ConditionOp]string{
	engine.ConditionEqual: "=", engine.ConditionLess: "<", engine.ConditionGreater: ">",
	engine.ConditionLessOrEqual: "<=", engine.ConditionGreaterOrEqual: ">=",
}

// of puts constants in.
func (c conjunct) of(name string, constants []columnValue) demand {
	switch {
	case c.test.between:
		low, high := constants[0], constants[1]
		return demand{
			sql: name + " BETWEEN " + low.sql + " AND " + high.sql,
			condition: engine.AllOf(valuesCondition(engine.ConditionGreaterOrEqual, c.column, low),
				valuesCondition(engine.ConditionLessOrEqual, c.column, high)),
		}
	case c.test.op == engine.ConditionIsNull:
		return demand{name + " IS NULL", engine.Condition{Op: c.test.op, Column: c.column.Name}}
	case c.test.op == engine.ConditionIsNotNull:
		return demand{name + " IS NOT NULL", engine.Condition{Op: c.test.op, Column: c.column.Name}}
	case c.test.op == engine.ConditionIn:
		items := make([]string, len(constants))
		for i, v := range constants {
			items[i] = v.sql
		}
		return demand{name + " IN (" + strings.Join(items, ", ") + ")", valuesCondition(c.test.op, c.column, constants...)}
	}
	return demand{name + " " + signs[c.test.op] + " " + constants[0].sql, valuesCondition(c.test.op, c.column, constants[0])}
}

// valuesCondition says nothing when one of the values has no text.
func valuesCondition(op engine.ConditionOp, col engine.Column, values ...columnValue) engine.Condition {
	texts := make([]engine.ConditionValue, len(values))
	for i, v := range values {
		if !v.hasText {
			return engine.Condition{}
		}
		texts[i] = v.text
	}
	return engine.Condition{Op: op, Column: col.Name, Values: texts}
}

// boundArgs are the parameters of a copy's SQL by their names.
type boundArgs map[string]any

// add gives a value a name of its own.
func (a boundArgs) add(value string) string {
	name := "lw_value_" + strconv.Itoa(len(a))
	a[name] = value
	return name
}
