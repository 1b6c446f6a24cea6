package changes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

const (
	// exampleRows bounds the examples of each kind of change, shownColumns their columns.
	exampleRows, shownColumns = 5, 50
	// columnsWithTransitions bounds the columns for which changes of values are counted, and
	// transitionsShown those of one column.
	columnsWithTransitions, transitionsShown = 10, 5
)

// transitions counts the changes of values in the columns with the most of them.
func (c comparison) transitions(ctx context.Context, r *Changes) error {
	order := make([]int, len(r.Columns))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(*r.Columns[b].Changed, *r.Columns[a].Changed) })
	for _, at := range order[:min(columnsWithTransitions, len(order))] {
		if *r.Columns[at].Changed == 0 {
			return nil
		}
		err := c.in.Each(ctx, "SELECT f, t, count(*) AS n FROM (SELECT "+analysis.ShownSQL("a.c0")+" AS f, "+analysis.ShownSQL("b.c0")+" AS t"+
			c.joined(c.pairs[at:at+1])+" WHERE a.here AND b.here AND "+differs(0)+") AS changed GROUP BY f, t "+
			"ORDER BY n DESC, f NULLS FIRST, t NULLS FIRST LIMIT "+strconv.Itoa(transitionsShown), func(row engine.Row) error {
			r.Columns[at].Transitions = append(r.Columns[at].Transitions, Transition{analysis.Text(row, 0), analysis.Text(row, 1), row.Int64(2)})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// examples adds some rows of each kind of change, in the order of their keys or values.
func (c comparison) examples(ctx context.Context, r *Changes) error {
	for _, kind := range []struct {
		change string
		rows   int64
	}{{inserted, r.Inserted}, {deleted, r.Deleted}, {updated, *cmp.Or(r.Updated, new(int64))}} {
		if kind.rows == 0 {
			continue
		}
		sql := c.exampleSQL(kind.change)
		shownPairs := c.pairs[:min(shownColumns, len(c.pairs))]
		err := c.in.Each(ctx, sql, func(row engine.Row) error {
			e := Example{Row: len(r.Examples) + 1, Change: kind.change}
			n := 0
			next := func() *string { n++; return analysis.Text(row, n-1) }
			if len(c.key) > 0 {
				e.Key = map[string]*string{}
				for _, p := range c.key {
					e.Key[p.after.Name] = next()
				}
			}
			if kind.change != inserted {
				e.Before = map[string]*string{}
			}
			if kind.change != deleted {
				e.After = map[string]*string{}
			}
			flags := len(c.key) + 2*len(shownPairs)
			for i, p := range shownPairs {
				switch kind.change {
				case inserted:
					e.After[p.after.Name] = next()
				case deleted:
					e.Before[p.before.Name] = next()
				default:
					before, after := next(), next()
					if row.Text(flags+i) != "" {
						e.Before[p.before.Name], e.After[p.after.Name] = before, after
					}
				}
			}
			r.Examples = append(r.Examples, e)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// exampleSQL returns the statement for the examples of a kind of change.
func (c comparison) exampleSQL(change string) string {
	var items, order []string
	pairs := c.pairs[:min(shownColumns, len(c.pairs))]
	if len(c.key) == 0 {
		for i := range pairs {
			items = append(items, analysis.ShownSQL(fmt.Sprintf("c%d", i)))
		}
		for i := range c.pairs {
			order = append(order, fmt.Sprintf("c%d NULLS FIRST", i))
		}
		condition := "nb > na"
		if change == deleted {
			condition = "na > nb"
		}
		return fmt.Sprintf("SELECT %s FROM %s WHERE %s ORDER BY %s LIMIT %d", strings.Join(append(items, "'' AS no_column"), ", "), c.grouped(),
			condition, strings.Join(append(order, "one"), ", "), exampleRows)
	}
	for i := range c.key {
		items = append(items, analysis.ShownSQL(fmt.Sprintf("coalesce(a.k%d, b.k%d)", i, i)))
		order = append(order, fmt.Sprintf("coalesce(a.k%d, b.k%d)", i, i))
	}
	var flags []string
	for i := range pairs {
		switch change {
		case inserted:
			items = append(items, analysis.ShownSQL(fmt.Sprintf("b.c%d", i)))
		case deleted:
			items = append(items, analysis.ShownSQL(fmt.Sprintf("a.c%d", i)))
		default:
			items = append(items, analysis.ShownSQL(fmt.Sprintf("a.c%d", i)), analysis.ShownSQL(fmt.Sprintf("b.c%d", i)))
			flags = append(flags, "CASE WHEN "+differs(i)+" THEN 'x' ELSE '' END")
		}
	}
	condition := map[string]string{inserted: "a.here IS NULL", deleted: "b.here IS NULL",
		updated: "a.here AND b.here AND " + anyDiffers(len(c.pairs))}[change]
	return fmt.Sprintf("SELECT %s%s WHERE %s ORDER BY %s LIMIT %d", strings.Join(append(items, flags...), ", "), c.joined(c.pairs), condition,
		strings.Join(order, ", "), exampleRows)
}
