package constraint

import (
	"context"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// KeyCondition is satisfied by every row of the table whose key occurs in the relation. If the
// table is pruned with it, the cost of [Scope.Taken] depends only on the files that can hold such
// keys. Errors are those of the session.
func (s Scope) KeyCondition(ctx context.Context, key Key, rows Relation) (engine.Condition, error) {
	var queries []string
	parts := make([]columnParts, len(key.Columns))
	for i, c := range key.Columns {
		if text, comparable := conditionText(c); comparable {
			parts[i].known = true
			queries = append(queries, "SELECT "+itoa(i)+"::BIGINT, low, high FROM ("+columnValuesSQL(key, c, rows, text)+")")
		}
	}
	if len(queries) == 0 {
		return engine.Condition{}, nil
	}
	err := s.query(ctx, strings.Join(queries, " UNION ALL "), func(row []scalar) { parts[row[0].number].add(row[1], row[2]) })
	conditions := make([]engine.Condition, len(parts))
	for i, p := range parts {
		conditions[i] = p.condition(key, key.Columns[i].Name)
	}
	return engine.AllOf(conditions...), err
}

// KeySpan is a summary of the keys of a relation.
type KeySpan struct {
	// Repeated is the number of keys that more than one row has; if it is not 0, [Scope.Repeated]
	// finds the rows.
	Repeated int64
	// Condition is weaker than [Scope.KeyCondition]: it is the range from the minimum to the
	// maximum of each column.
	Condition engine.Condition
	// Within is SQL over a relation with the [Alias], which every row with one of the keys
	// satisfies. It has bounds for the columns by which the engine can prune while it reads, and is
	// never empty.
	Within string
}

// KeySpan summarises the keys of a relation in one scan. Errors are those of the session.
func (s Scope) KeySpan(ctx context.Context, key Key, rows Relation) (KeySpan, error) {
	items := []string{"count(*) FILTER (lw_times > 1)"}
	parts := make([]columnParts, len(key.Columns))
	for i, c := range key.Columns {
		if text, comparable := conditionText(c); comparable {
			parts[i].known = true
			k := "k" + itoa(i)
			items = append(items, text("min("+k+")"), text("max("+k+")"), "count(*) FILTER ("+k+" IS NULL)")
		}
	}
	grouped := "SELECT " + key.aliases() + ", count(*) AS lw_times FROM " + rows.as(Alias) + " WHERE " + key.counts(Alias) +
		" GROUP BY " + strings.Join(key.names(Alias), ", ")
	var span KeySpan
	err := s.query(ctx, "SELECT "+strings.Join(items, ", ")+" FROM ("+grouped+")", func(row []scalar) {
		span.Repeated, row = row[0].number, row[1:]
		for i := range parts {
			if !parts[i].known {
				continue
			}
			if !row[0].null {
				parts[i].add(row[0], row[1])
			}
			parts[i].nulls = row[2].number > 0
			row = row[3:]
		}
	})
	conditions := make([]engine.Condition, len(parts))
	for i, p := range parts {
		conditions[i] = p.condition(key, key.Columns[i].Name)
	}
	span.Condition, span.Within = engine.AllOf(conditions...), withinSQL(key, parts)
	return span, err
}

func withinSQL(key Key, parts []columnParts) string {
	within := []string{"true"}
	for i, p := range parts {
		var literal func(text string) string
		switch familyOf(key.Columns[i].Type) {
		case famInt, famDecimal:
			literal = func(text string) string { return text }
		case famDate:
			literal = func(text string) string { return "DATE " + engine.QuoteString(text) }
		case famText:
			literal = engine.QuoteString
		default:
			continue
		}
		low, high, found := p.bounds()
		if !found || p.nulls && key.NullsEqual || !fitsSQL(low) || !fitsSQL(high) {
			continue
		}
		column := key.names(Alias)[i]
		within = append(within, column+" >= "+literal(low), column+" <= "+literal(high))
	}
	return strings.Join(within, " AND ")
}

// Up to listedValues values of a column are listed individually, more of them as ranges of
// neighbouring values.
const (
	listedValues = 1024
	spans        = 64
)

// columnParts are the values of a key's column in a relation.
type columnParts struct {
	// known reports that values of the column can be compared.
	known  bool
	nulls  bool
	listed []engine.ConditionValue
	ranges [][2]engine.ConditionValue
}

// add adds a group with its minimum and maximum.
func (p *columnParts) add(low, high scalar) {
	switch {
	case low.null:
		p.nulls = true
	case low.text == high.text:
		p.listed = append(p.listed, engine.ConditionValue(low.text))
	default:
		p.ranges = append(p.ranges, [2]engine.ConditionValue{engine.ConditionValue(low.text), engine.ConditionValue(high.text)})
	}
}

// fitsSQL rejects texts that would make a statement too long, or with a NUL, invalid.
func fitsSQL(text string) bool { return len(text) <= 100 && !strings.Contains(text, "\x00") }

// bounds returns the minimum and the maximum if they were added as one group.
func (p *columnParts) bounds() (low, high string, found bool) {
	switch {
	case len(p.ranges) == 1:
		return string(p.ranges[0][0]), string(p.ranges[0][1]), true
	case len(p.listed) == 1:
		return string(p.listed[0]), string(p.listed[0]), true
	}
	return "", "", false
}

func (p *columnParts) condition(key Key, column string) engine.Condition {
	if !p.known {
		return engine.Condition{}
	}
	var either []engine.Condition
	for _, r := range p.ranges {
		either = append(either, engine.AllOf(
			engine.Condition{Op: engine.ConditionGreaterOrEqual, Column: column, Values: []engine.ConditionValue{r[0]}},
			engine.Condition{Op: engine.ConditionLessOrEqual, Column: column, Values: []engine.ConditionValue{r[1]}}))
	}
	if len(p.listed) > 0 {
		either = append(either, engine.Condition{Op: engine.ConditionIn, Column: column, Values: p.listed})
	}
	if p.nulls && key.NullsEqual {
		either = append(either, engine.Condition{Op: engine.ConditionIsNull, Column: column})
	}
	return engine.AnyOf(either...)
}

// columnValuesSQL returns the minimum and maximum of every group of neighbouring values, and a row
// of NULLs if the column contains one.
func columnValuesSQL(key Key, c KeyColumn, rows Relation, text func(string) string) string {
	column := engine.QuoteIdent(Alias) + "." + engine.QuoteIdent(c.Name)
	values := "SELECT DISTINCT " + column + " AS v FROM " + rows.as(Alias) + " WHERE " + column + " IS NOT NULL AND " + key.counts(Alias)
	grouped := "SELECT v, row_number() OVER (ORDER BY v) - 1 AS n, count(*) OVER () AS many FROM (" + values + ")"
	group := "CASE WHEN many <= " + itoa(listedValues) + " THEN n ELSE n * " + itoa(spans) + " // many END"
	return "SELECT " + text("min(v)") + " AS low, " + text("max(v)") + " AS high FROM (" + grouped + ") GROUP BY " + group +
		" UNION ALL (SELECT NULL, NULL FROM " + rows.as(Alias) + " WHERE " + column + " IS NULL LIMIT 1)"
}

// conditionText returns a function that prints a value as an [engine.ConditionValue]. It returns
// false for types that pruning has no bounds for.
func conditionText(c KeyColumn) (func(value string) string, bool) {
	switch familyOf(c.Type) {
	case famBool, famInt, famDecimal, famDate, famLocal:
		return func(v string) string { return v + "::VARCHAR" }, true
	case famText:
		return func(v string) string { return v }, true
	case famInstant:
		// The number of microseconds does not depend on the session's time zone. Infinite values
		// have none.
		return func(v string) string {
			return "coalesce(make_timestamp(epoch_us(" + v + "))::VARCHAR, " + v + "::VARCHAR)"
		}, true
	}
	return nil, false
}
