package anomaly

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/profile"
	"github.com/lakewarden/lakewarden/engine/analysis/relation"
)

const (
	// tail is the distance of a fence from the 99 % quantile, as a multiple of the distance
	// between the 90 % and the 99 % quantile. A tail that halves evenly reaches it in a
	// million rows.
	tail = 4
	// fewValues is the number of values up to which all values of a column are counted.
	fewValues = 2000
)

// perCount is the number of columns whose values one statement counts.
const perCount = 12

// countValues counts the values of columns that have few.
func (d *detector) countValues(ctx context.Context) error {
	d.counts = make([][]profile.Value, len(d.profiles))
	var wanted []int
	for i, p := range d.profiles {
		kind := p.Column.Kind()
		switch {
		case !p.Exact || p.Distinct > fewValues || p.Distinct < 2 || p.Long > 0 || kind != analysis.KindText && kind != analysis.KindInteger:
		case p.Distinct <= profile.MaxTop:
			d.counts[i] = p.Top
		default:
			wanted = append(wanted, i)
		}
	}
	for group := range slices.Chunk(wanted, perCount) {
		parts := make([]string, len(group))
		for at, i := range group {
			c := d.column(i)
			parts[at] = fmt.Sprintf("SELECT CAST(%d AS BIGINT) AS place, CAST(%s AS VARCHAR) AS value, count(*) AS n "+
				"FROM %s WHERE %s IS NOT NULL GROUP BY %s",
				i, c.Quoted(), d.in.Table.From(c), c.Quoted(), c.Quoted())
		}
		err := d.in.Each(ctx, "SELECT place, value, n FROM ("+strings.Join(parts, " UNION ALL ")+") ORDER BY place, n DESC, value",
			func(r engine.Row) error {
				d.counts[r.Int64(0)] = append(d.counts[r.Int64(0)], profile.Value{Value: r.Text(1), Rows: r.Int64(2)})
				return nil
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// marginal adds the checks of single columns.
func (d *detector) marginal(ctx context.Context) error {
	clocks := d.sample.Clocks()
	for i, p := range d.profiles {
		if p.Present() < minRows || p.Column.Masked {
			continue
		}
		kind := p.Column.Kind()
		switch {
		case slices.Contains(clocks, i):
			d.clock(i)
		case p.Column.Numeric():
			if d.edges(i) {
				continue
			}
			if err := d.fences(ctx, i); err != nil {
				return err
			}
			if err := d.sign(ctx, i); err != nil {
				return err
			}
		case p.Column.Temporal():
			if err := d.fences(ctx, i); err != nil {
				return err
			}
		case kind == analysis.KindText:
			if err := d.formats(ctx, i); err != nil {
				return err
			}
			d.categories(i)
		}
	}
	d.swaps()
	return nil
}

// clock adds the check of times of day that are numbers such as 2359.
func (d *detector) clock(i int) {
	q := d.column(i).Quoted()
	d.add(check{kind: kindTime, column: i, score: 0.97, expected: "a time from 0 to 2400, with minutes below 60",
		reason: d.column(i).Name + " holds times of day such as 2359, but this is not one",
		where:  fmt.Sprintf("(%s < 0 OR %s > 2400 OR %s %% 100 >= 60)", q, q, q)})
}

// quantiles returns the quantiles of a profile as numbers like those of the sample.
func (d *detector) quantiles(ctx context.Context, i int) (map[float64]float64, error) {
	p, out := d.profiles[i], map[float64]float64{}
	if p.Column.Numeric() {
		for level, value := range p.Quantiles {
			if v, err := strconv.ParseFloat(value, 64); err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) {
				out[level] = v
			}
		}
		return out, nil
	}
	number := relation.Number(p.Column)
	return out, d.in.Each(ctx, "SELECT quantile_disc(x, 0.01), quantile_disc(x, 0.1), quantile_disc(x, 0.5), quantile_disc(x, 0.9), "+
		"quantile_disc(x, 0.99) FROM (SELECT "+number+" AS x FROM "+d.in.Table.From(p.Column)+")", func(r engine.Row) error {
		for at, level := range []float64{0.01, 0.1, 0.5, 0.9, 0.99} {
			out[level] = r.Float64(at)
		}
		return nil
	})
}

// fences adds the check of numbers and dates far beyond the others.
func (d *detector) fences(ctx context.Context, i int) error {
	p := d.profiles[i]
	if p.Distinct < 10 {
		return nil
	}
	q, err := d.quantiles(ctx, i)
	if err != nil || len(q) < 5 {
		return err
	}
	low, high := fences(q)
	least, most := profile.Number(p.Min), profile.Number(p.Max)
	if !(low < high) || p.Column.Numeric() && least >= low && most <= high {
		return nil
	}
	x, median := relation.Number(p.Column), q[0.5]
	outside := func(low, high float64) string {
		return fmt.Sprintf("(%s < %s OR %s > %s)", x, float(low), x, float(high))
	}
	// A value that occurs often is no typing error, unless it is much farther away.
	often := max(5, d.total/50_000)
	farLow, farHigh := median-5*(median-low), median+5*(high-median)
	usual := []string{}
	err = d.in.Each(ctx, fmt.Sprintf("SELECT x, count(*) FROM (SELECT %s AS x FROM %s) WHERE x < %s OR x > %s GROUP BY x "+
		"HAVING count(*) >= %d AND x BETWEEN %s AND %s ORDER BY x LIMIT 500", x, d.in.Table.From(p.Column), float(low), float(high),
		often, float(farLow), float(farHigh)), func(r engine.Row) error {
		usual = append(usual, float(r.Float64(0)))
		return nil
	})
	if err != nil {
		return err
	}
	where := outside(low, high)
	if len(usual) > 0 {
		where = "(" + where + " AND " + x + " NOT IN (" + strings.Join(usual, ", ") + "))"
	}
	n, err := d.in.Rows(ctx, where, p.Column)
	if err != nil || n == 0 || float64(n) > 0.005*float64(p.Present()) {
		return err
	}
	d.add(check{kind: kindRange, column: i, score: 0.85, where: where, distant: true,
		expected: "usually " + p.Quantiles[0.01] + " to " + p.Quantiles[0.99],
		reason:   fmt.Sprintf("98 %% of the values of %s are between %s and %s", p.Column.Name, p.Quantiles[0.01], p.Quantiles[0.99])})
	return nil
}

// fences returns the bounds beyond which a value is unusual, on the scale, linear or
// logarithmic, that is wider.
func fences(q map[float64]float64) (low, high float64) {
	unit := (q[0.99] - q[0.01]) / 20
	low = q[0.01] - tail*max(q[0.1]-q[0.01], unit)
	high = q[0.99] + tail*max(q[0.99]-q[0.9], unit)
	if q[0.9] > 0 && q[0.99] > q[0.9] && q[0.5] >= 0 {
		high = max(high, q[0.99]*math.Pow(q[0.99]/q[0.9], tail))
	}
	if q[0.1] < 0 && q[0.01] < q[0.1] && q[0.5] <= 0 {
		low = min(low, q[0.01]*math.Pow(q[0.01]/q[0.1], tail))
	}
	return low, high
}

// sign adds the check of negative numbers where the others are positive.
func (d *detector) sign(ctx context.Context, i int) error {
	p := d.profiles[i]
	least, typical, q := p.Quantile(0.01), p.Quantile(0.1), p.Column.Quoted()
	if !(least > 0) || !strings.HasPrefix(p.Min, "-") {
		return nil
	}
	// The tail of a distribution would come close to zero before it turns negative.
	negative, large := int64(0), int64(0)
	err := d.in.Each(ctx, fmt.Sprintf("SELECT count(*) FILTER (WHERE %s < 0), count(*) FILTER (WHERE %s <= %s) FROM %s", q, q,
		float(-typical/2),
		d.in.Table.From(p.Column)), func(r engine.Row) error {
		negative, large = r.Int64(0), r.Int64(1)
		return nil
	})
	if err == nil && large*2 >= negative && negative*200 <= p.Present() {
		d.add(check{kind: kindSign, column: i, score: 0.95, where: q + " < 0", expected: "a positive number",
			reason: "nearly all values of " + p.Column.Name + " are positive"})
	}
	return err
}

// edges adds the check of whole numbers beyond the bounds of a range whose values are all
// frequent, as of months and days. It reports whether the column has such a range.
func (d *detector) edges(i int) bool {
	c := d.column(i)
	if c.Kind() != analysis.KindInteger || d.counts[i] == nil || len(d.counts[i]) > 400 {
		return false
	}
	if d.nearlyConstant(i) {
		return true
	}
	values := slices.Clone(d.counts[i])
	numbers := make(map[string]int64, len(values))
	for _, v := range values {
		numbers[v.Value], _ = strconv.ParseInt(v.Value, 10, 64)
	}
	least := values[0].Rows // of the frequent values
	for _, v := range values {
		if v.Rows*20 >= values[0].Rows {
			least = v.Rows
		}
	}
	slices.SortFunc(values, func(a, b profile.Value) int { return cmp.Compare(numbers[a.Value], numbers[b.Value]) })
	first, last := -1, -1
	for at, v := range values {
		if v.Rows*10 >= least {
			if first < 0 {
				first = at
			}
			last = at
		}
	}
	if last-first < 5 || numbers[values[last].Value]-numbers[values[first].Value] != int64(last-first) {
		return false
	}
	below, above := int64(0), int64(0)
	for at, v := range values {
		if at < first {
			below += v.Rows
		} else if at > last {
			above += v.Rows
		}
	}
	q, parts := c.Quoted(), []string{}
	if below > 0 && below*8 <= values[first].Rows && below*500 <= d.total {
		parts = append(parts, q+" < "+values[first].Value)
	}
	if above > 0 && above*8 <= values[last].Rows && above*500 <= d.total {
		parts = append(parts, q+" > "+values[last].Value)
	}
	if len(parts) > 0 {
		d.add(check{kind: kindRange, column: i, score: 0.93, where: "(" + strings.Join(parts, " OR ") + ")",
			expected: values[first].Value + " to " + values[last].Value,
			reason:   fmt.Sprintf("%s otherwise takes the values from %s to %s", c.Name, values[first].Value, values[last].Value)})
	}
	return below == 0 && above == 0 || len(parts) > 0
}

// nearlyConstant adds the check of years other than the only frequent one. It reports
// whether the column has one value nearly everywhere.
func (d *detector) nearlyConstant(i int) bool {
	values := d.counts[i]
	rest := d.profiles[i].Present() - values[0].Rows
	year, _ := strconv.ParseInt(values[0].Value, 10, 64)
	if rest*200 > d.total {
		return false
	}
	if year >= 1900 && year <= 2100 {
		q := d.column(i).Quoted()
		d.add(check{kind: kindRange, column: i, score: 0.9, where: q + " <> " + values[0].Value, expected: values[0].Value,
			reason: fmt.Sprintf("nearly all values of %s are %s", d.column(i).Name, values[0].Value)})
	}
	return true
}

func float(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
