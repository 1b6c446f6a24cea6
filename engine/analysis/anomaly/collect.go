package anomaly

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// row is a row that some check reports.
type row struct {
	identity int64
	// copies is the number of equal rows.
	copies  int64
	hits    []hit
	numbers []float64
	codes   []int32
	// slots is nil if nothing is known.
	slots *slots
}

// hit is a check that reports a row.
type hit struct {
	check *check
	// expected is the value that fits, support the number of rows that have it.
	expected string
	support  int64
}

// perStatement is the number of rows that one statement names.
const perStatement = 4000

func (d *detector) hit(identity int64, h hit) {
	r := d.rows[identity]
	if r == nil && len(d.rows) == maxFlagged {
		d.cut = true
		return
	}
	if r == nil {
		r = &row{identity: identity}
		d.rows[identity] = r
	}
	r.hits = append(r.hits, h)
}

// collect runs all checks and reads the rows that they report.
func (d *detector) collect(ctx context.Context) error {
	if err := d.conditions(ctx); err != nil {
		return err
	}
	for _, c := range d.checks {
		var sql string
		switch {
		case c.depends != nil:
			broken, exceptions := int64(0), int64(0)
			err := d.in.Each(ctx, d.balance(c), func(r engine.Row) error {
				broken, exceptions = r.Int64(0), r.Int64(1)
				return nil
			})
			if err != nil {
				return err
			}
			if broken+exceptions == 0 {
				continue
			}
			if exceptions > broken {
				// The values that break the dependency are most likely exceptions, too.
				c.ignored = true
				if d.counts[c.depends.To] == nil {
					continue
				}
			}
			sql = d.violations(c)
		case c.group != nil:
			sql = d.unusual(c)
		default:
			continue
		}
		type found struct {
			identity int64
			h        hit
		}
		var list []found
		err := d.in.Each(ctx, sql, func(r engine.Row) error {
			list = append(list, found{r.Int64(0), hit{c, r.Text(1), r.Int64(2)}})
			return nil
		})
		if err != nil {
			return err
		}
		if d.tooMany(int64(len(list))) {
			c.strict = false
			continue
		}
		for i, f := range list {
			if i == 0 || f.identity != list[i-1].identity {
				d.hit(f.identity, f.h)
			}
		}
	}
	for _, c := range d.checks {
		if c.parts != nil && c.reported {
			if err := d.slots(ctx, c); err != nil {
				return err
			}
		}
	}
	for _, r := range d.rows {
		d.order = append(d.order, r)
	}
	slices.SortFunc(d.order, func(a, b *row) int {
		if a.identity < b.identity {
			return -1
		}
		return 1
	})
	if d.cut {
		d.warnings = append(d.warnings, fmt.Sprintf("Only %d of the rows that look unusual were examined.", maxFlagged))
	}
	return d.read(ctx)
}

// tooMany reports whether so many rows are reported that they are not anomalies.
func (d *detector) tooMany(rows int64) bool {
	return float64(rows) > max(3, maxShare*float64(d.total)) || rows > maxFlagged
}

// conditions runs the checks that are conditions over one row: first their counts, then the
// rows.
func (d *detector) conditions(ctx context.Context) error {
	var checks []*check
	for _, c := range d.checks {
		if c.where != "" {
			checks = append(checks, c)
		}
	}
	for len(checks) > 0 {
		part := checks[:min(len(checks), 60)]
		checks = checks[len(part):]
		counts := make([]string, len(part))
		for i, c := range part {
			counts[i] = "count(*) FILTER (WHERE " + c.where + ")"
		}
		var few []*check
		err := d.in.Each(ctx, "SELECT "+strings.Join(counts, ", ")+" FROM "+d.in.Table.From(d.sample.Columns...), func(r engine.Row) error {
			for i, c := range part {
				if n := r.Int64(i); d.tooMany(n) {
					c.strict = false
				} else if n > 0 {
					c.reported = true
					few = append(few, c)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if len(few) == 0 {
			continue
		}
		items, any := make([]string, len(few)), make([]string, len(few))
		for i, c := range few {
			items[i], any[i] = "CAST(coalesce("+c.where+", FALSE) AS BIGINT)", "("+c.where+")"
		}
		last, seen := int64(-1), 0
		err = d.in.Each(ctx, fmt.Sprintf("SELECT %s, %s FROM %s WHERE %s ORDER BY 1 LIMIT %d", d.identity(), strings.Join(items, ", "),
			d.in.Table.From(d.sample.Columns...), strings.Join(any, " OR "), maxFlagged+1), func(r engine.Row) error {
			identity := r.Int64(0)
			if identity == last {
				return nil
			}
			last = identity
			if seen++; seen > maxFlagged {
				d.cut = true
				return nil
			}
			for i, c := range few {
				if r.Int64(i+1) == 1 {
					d.hit(identity, hit{check: c, expected: c.expected})
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// read reads the values of the reported rows.
func (d *detector) read(ctx context.Context) error {
	s := d.sample
	for part := range slices.Chunk(d.order, perStatement) {
		sql := fmt.Sprintf("SELECT %s, %s FROM %s WHERE %s IN (%s)", d.identity(), strings.Join(s.Items(), ", "),
			d.in.Table.From(s.Columns...), d.identity(), identities(part))
		err := d.in.Each(ctx, sql, func(r engine.Row) error {
			one := d.rows[r.Int64(0)]
			if one.copies++; one.copies > 1 {
				return nil
			}
			one.numbers, one.codes = make([]float64, len(s.Columns)), make([]int32, len(s.Columns))
			for i := range s.Columns {
				one.numbers[i], one.codes[i] = s.Read(r, 1, i)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func identities(rows []*row) string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = strconv.FormatInt(r.identity, 10)
	}
	return strings.Join(out, ", ")
}
