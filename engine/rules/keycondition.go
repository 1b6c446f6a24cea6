package rules

import (
	"context"

	"github.com/lakewarden/lakewarden/engine"
)

// KeyCondition is fulfilled by every row of the table whose key is that of a row
// of the relation. Data skipping with it makes the cost of [Scope.Taken] follow
// the files that hold such keys. Errors are those of the session.
func (s Scope) KeyCondition(ctx context.Context, key Key, rows Relation) (engine.Condition, error) {
	parts := make([]engine.Condition, 0, len(key.Columns))
	for _, c := range key.Columns {
		part, err := s.columnCondition(ctx, key, c, rows)
		if err != nil {
			return engine.Condition{}, err
		}
		parts = append(parts, part)
	}
	return engine.AllOf(parts...), nil
}

// Up to listedValues values of a column are told one by one, more of them as
// spans of neighbours.
const (
	listedValues = 1024
	spans        = 64
)

// columnCondition says which values a column of the key has in the relation.
func (s Scope) columnCondition(ctx context.Context, key Key, c KeyColumn, rows Relation) (engine.Condition, error) {
	text, comparable := conditionText(c)
	if !comparable {
		return engine.Condition{}, nil
	}
	var listed []engine.ConditionValue
	var ranges []engine.Condition
	nulls := false
	err := s.query(ctx, columnValuesSQL(key, c, rows, text), func(row []cell) {
		low, high := row[0], row[1]
		switch {
		case low.null:
			nulls = true
		case low.text == high.text:
			listed = append(listed, engine.ConditionValue(low.text))
		default:
			ranges = append(ranges, engine.AllOf(
				engine.Condition{Op: engine.ConditionGreaterOrEqual, Column: c.Name, Values: []engine.ConditionValue{engine.ConditionValue(low.text)}},
				engine.Condition{Op: engine.ConditionLessOrEqual, Column: c.Name, Values: []engine.ConditionValue{engine.ConditionValue(high.text)}}))
		}
	})
	if len(listed) > 0 {
		ranges = append(ranges, engine.Condition{Op: engine.ConditionIn, Column: c.Name, Values: listed})
	}
	if nulls && key.NullsEqual {
		ranges = append(ranges, engine.Condition{Op: engine.ConditionIsNull, Column: c.Name})
	}
	return engine.AnyOf(ranges...), err
}

// columnValuesSQL gives the least and the greatest value of every group of
// neighbours, and a row of NULLs when the column has one.
func columnValuesSQL(key Key, c KeyColumn, rows Relation, text func(string) string) string {
	column := engine.QuoteIdent(Alias) + "." + engine.QuoteIdent(c.Name)
	values := "SELECT DISTINCT " + column + " AS v FROM " + rows.as(Alias) + " WHERE " + column + " IS NOT NULL AND " + key.counts(Alias)
	grouped := "SELECT v, row_number() OVER (ORDER BY v) - 1 AS n, count(*) OVER () AS many FROM (" + values + ")"
	group := "CASE WHEN many <= " + itoa(listedValues) + " THEN n ELSE n * " + itoa(spans) + " // many END"
	return "SELECT " + text("min(v)") + " AS low, " + text("max(v)") + " AS high FROM (" + grouped + ") GROUP BY " + group +
		" UNION ALL (SELECT NULL, NULL FROM " + rows.as(Alias) + " WHERE " + column + " IS NULL LIMIT 1)"
}

// conditionText prints a value as [engine.ConditionValue] asks. Types that data
// skipping knows no bounds of have no such form.
func conditionText(c KeyColumn) (func(value string) string, bool) {
	switch familyOf(c.Type) {
	case famBool, famInt, famDecimal, famDate, famLocal:
		return func(v string) string { return v + "::VARCHAR" }, true
	case famText:
		return func(v string) string { return v }, true
	case famInstant:
		// The number of microseconds does not depend on the session's time zone.
		return func(v string) string { return "make_timestamp(epoch_us(" + v + "))::VARCHAR" }, true
	}
	return nil, false
}
