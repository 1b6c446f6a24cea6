package changes

import (
	"context"
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// pair is a column that both versions have.
type pair struct {
	before, after analysis.Column
}

// comparison reads two versions of a table.
type comparison struct {
	in            analysis.Input
	before, after analysis.Table
	pairs         []pair
	// key are the pairs of the primary key; it is empty if rows are compared as a whole.
	key []pair
}

// comparable returns the SQL of a value in a form that = compares: nested values as text,
// and both values of a pair as text if their types differ.
func comparable(c, other analysis.Column) string {
	if c.Kind() == analysis.KindOther && c.Type.String() != string(sqltype.UUID) || !sqltype.Equal(c.Type, other.Type) {
		return "CAST(" + c.Quoted() + " AS VARCHAR)"
	}
	return c.Quoted()
}

// side returns a subquery over one version with the columns k0, k1, … of the key and
// c0, c1, … of pairs.
func (c comparison) side(alias string, before bool, pairs []pair) string {
	table := c.after
	if before {
		table = c.before
	}
	items := []string{"TRUE AS here"}
	var read []analysis.Column
	add := func(name string, p pair) {
		mine, other := p.after, p.before
		if before {
			mine, other = p.before, p.after
		}
		read = append(read, mine)
		items = append(items, comparable(mine, other)+" AS "+name)
	}
	for i, p := range c.key {
		add(fmt.Sprintf("k%d", i), p)
	}
	for i, p := range pairs {
		add(fmt.Sprintf("c%d", i), p)
	}
	return "(SELECT " + strings.Join(items, ", ") + " FROM " + table.From(read...) + ") AS " + alias
}

// joined returns the FROM clause that matches the rows of both versions by their key.
func (c comparison) joined(pairs []pair) string {
	on := make([]string, len(c.key))
	for i := range c.key {
		on[i] = fmt.Sprintf("a.k%d = b.k%d", i, i)
	}
	return " FROM " + c.side("a", true, pairs) + " FULL JOIN " + c.side("b", false, pairs) + " ON " + strings.Join(on, " AND ")
}

// differs is the condition that a row of both versions has another value in a column.
func differs(i int) string { return fmt.Sprintf("a.c%d IS DISTINCT FROM b.c%d", i, i) }

// anyDiffers is the condition that a row of both versions has another value in any of n
// columns.
func anyDiffers(n int) string {
	if n == 0 {
		return "FALSE"
	}
	list := make([]string, n)
	for i := range list {
		list[i] = differs(i)
	}
	return "(" + strings.Join(list, " OR ") + ")"
}

// unique reports whether the key identifies every row of a version. Other writers do not
// know keys.
func (c comparison) unique(ctx context.Context, before bool) (bool, error) {
	names := make([]string, len(c.key))
	for i := range c.key {
		names[i] = fmt.Sprintf("k%d", i)
	}
	list := strings.Join(names, ", ")
	n, err := c.in.Count(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+c.side("a", before, nil)+" GROUP BY "+list+" HAVING count(*) > 1 OR "+
		strings.Join(names, " IS NULL OR ")+" IS NULL LIMIT 1) AS repeated")
	return n == 0, err
}

// count sets the numbers of rows and the NULLs of each column.
func (c comparison) count(ctx context.Context, r *Changes) error {
	for _, before := range []bool{true, false} {
		for at := 0; at == 0 || at < len(c.pairs); at += counted {
			chunk := c.pairs[at:min(at+counted, len(c.pairs))]
			sql := "SELECT count(*)"
			for i := range chunk {
				sql += fmt.Sprintf(", count(*) - count(c%d)", i)
			}
			err := c.in.Each(ctx, sql+" FROM "+comparison{in: c.in, before: c.before, after: c.after}.side("a", before, chunk),
				func(row engine.Row) error {
					for i := range chunk {
						nulls := &r.Columns[at+i].NullsAfter
						if before {
							nulls = &r.Columns[at+i].NullsBefore
						}
						*nulls = row.Int64(1 + i)
					}
					if before {
						r.RowsBefore = row.Int64(0)
					} else {
						r.RowsAfter = row.Int64(0)
					}
					return nil
				})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// counted is the number of columns that one statement counts.
const counted = 100

// matchKeys compares rows with the same key.
func (c comparison) matchKeys(ctx context.Context, r *Changes) error {
	r.Updated = new(int64)
	sql := "SELECT count(*) FILTER (WHERE a.here IS NULL), count(*) FILTER (WHERE b.here IS NULL), " +
		"count(*) FILTER (WHERE a.here AND b.here AND " + anyDiffers(len(c.pairs)) + "), count(*) FILTER (WHERE a.here AND b.here)"
	err := c.in.Each(ctx, sql+c.joined(c.pairs), func(row engine.Row) error {
		r.Inserted, r.Deleted, *r.Updated = row.Int64(0), row.Int64(1), row.Int64(2)
		r.Unchanged = row.Int64(3) - *r.Updated
		return nil
	})
	if err != nil {
		return err
	}
	for at := 0; at < len(c.pairs) && *r.Updated > 0; at += counted {
		chunk := c.pairs[at:min(at+counted, len(c.pairs))]
		list := make([]string, len(chunk))
		for i := range chunk {
			list[i] = "count(*) FILTER (WHERE a.here AND b.here AND " + differs(i) + ")"
		}
		err := c.in.Each(ctx, "SELECT "+strings.Join(list, ", ")+c.joined(chunk), func(row engine.Row) error {
			for i := range chunk {
				r.Columns[at+i].Changed = analysis.Number(row.Int64(i))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for i := range r.Columns {
		if r.Columns[i].Changed == nil {
			r.Columns[i].Changed = new(int64)
		}
	}
	return nil
}

// matchRows compares whole rows, each as often as it occurs.
func (c comparison) matchRows(ctx context.Context, r *Changes) error {
	sums := make([]string, 3)
	for i, part := range []string{"greatest(nb - na, 0)", "greatest(na - nb, 0)", "least(na, nb)"} {
		sums[i] = "CAST(coalesce(sum(" + part + "), 0) AS BIGINT)"
	}
	return c.in.Each(ctx, "SELECT "+strings.Join(sums, ", ")+" FROM "+c.grouped(), func(row engine.Row) error {
		r.Inserted, r.Deleted, r.Unchanged = row.Int64(0), row.Int64(1), row.Int64(2)
		return nil
	})
}

// grouped returns a subquery with every distinct row, and how often each version has it.
func (c comparison) grouped() string {
	names := []string{"one"}
	for i := range c.pairs {
		names = append(names, fmt.Sprintf("c%d", i))
	}
	list := strings.Join(names, ", ")
	both := "SELECT 1 AS one, *, 1 AS na, 0 AS nb FROM " + c.side("a", true, c.pairs) +
		" UNION ALL SELECT 1 AS one, *, 0 AS na, 1 AS nb FROM " + c.side("b", false, c.pairs)
	return "(SELECT " + list + ", sum(na) AS na, sum(nb) AS nb FROM (" + both + ") AS rows_of_both GROUP BY " + list + ") AS grouped"
}
