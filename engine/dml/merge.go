package dml

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Matched is what a merge does with rows of the table that its rows meet.
type Matched string

// The choices.
const (
	MatchedUpdate Matched = "update"
	MatchedIgnore Matched = "ignore"
	MatchedDelete Matched = "delete"
)

// MergeRows is a merge. Rows meet where all columns of On are equal, NULL equal to
// NULL.
type MergeRows struct {
	Rows
	// On are columns of the table as it spells them.
	On      []string
	Matched Matched
	// Insert adds the rows that meet none.
	Insert bool
}

// Merge joins rows of a request with those of the table. An update changes the
// columns that the row names, but those of On. Rows of the table that the writer
// does not see are not met; where On is a key of the table and nothing beside it, meeting
// one is [ErrHiddenMatch], because a row of this key could be neither changed nor
// added. With more columns in On the answer would tell what the hidden row holds in
// them. Errors are those of [Update].
func Merge(ctx context.Context, t Table, o Options, m MergeRows) (Result, error) {
	w, err := newWrite(ctx, t, o)
	if err == nil && m.Matched != MatchedIgnore {
		err = w.changes()
	}
	if err != nil || m.Count == 0 {
		return Result{Snapshot: t.Snapshot}, err
	}
	staged, err := w.staged(m.Rows, m.Insert)
	if err != nil {
		return Result{}, err
	}
	j := &merge{write: w, m: m, rows: staged, on: w.mergeKey(m.On)}
	j.own = m.Matched != MatchedUpdate || j.replacesWhole()
	if err := j.meet(ctx); err != nil {
		return Result{}, err
	}
	return j.run(ctx)
}

// merge is a merge in progress.
type merge struct {
	*write
	m    MergeRows
	rows relation
	on   constraint.Key
	// own says that the rows that come all are rows of the request as they stand.
	own bool
	// list are the files that can hold rows that are met, within is SQL that these
	// fulfil, over the alias of package rules.
	list   *engine.FileList
	within string
	// met holds one row for each pair of rows that meet: index, the position in
	// list, and, unless own is true, the table's columns with the values that an
	// update gives them.
	met relation
	// metCount is the number of pairs, metRows that of the request's rows in them, and
	// metFiles are the numbers of their files in list.
	metCount, metRows int64
	metFiles          []int
}

func (w *write) mergeKey(on []string) constraint.Key {
	key := constraint.Key{Name: "on", NullsEqual: true}
	for _, name := range on {
		f, _ := w.Snapshot.Schema().Field(name)
		key.Columns = append(key.Columns, constraint.KeyColumn{Name: name, Type: f.Type})
	}
	return key
}

// fewFiles are so few that to look closer at the keys costs more than it spares.
const fewFiles = 2

// candidates lists the files that can hold rows that the request's rows meet. No
// two of these meet each other.
func (j *merge) candidates(ctx context.Context) (*engine.FileList, error) {
	scope := j.scope(j.rows)
	span, err := scope.KeySpan(ctx, j.on, j.rows.rules())
	if err != nil {
		return nil, err
	}
	if span.Repeated > 0 {
		report, err := scope.Repeated(ctx, j.on, j.rows.rules())
		if err == nil {
			err = j.keyError(ctx, fresh{relation: j.rows}, j.on, KeyRepeated, report)
		}
		if err != nil {
			return nil, err
		}
	}
	j.within = span.Within
	if list, ok := j.files(j.Snapshot, span.Condition, j.Restricted); ok && list.Len() <= fewFiles {
		return list, nil
	}
	condition, err := scope.KeyCondition(ctx, j.on, j.rows.rules())
	if err != nil {
		return nil, err
	}
	list, ok := j.files(j.Snapshot, condition, j.Restricted)
	if !ok {
		return nil, ErrNotListed
	}
	return list, nil
}

// meet finds the rows of the table that the request's rows meet.
func (j *merge) meet(ctx context.Context) error {
	list, err := j.candidates(ctx)
	if err != nil {
		return err
	}
	j.list = list.WithPositions(j.positions())
	table := j.track(j.list)
	r, s := engine.QuoteIdent(constraint.Alias), "s"
	visible := "true"
	if j.Filter != "" {
		visible = "CASE WHEN coalesce(TRY((" + j.Filter + ")), false) THEN true WHEN " + j.blocks(s) + " THEN false END"
	}
	items := []string{
		column(s, j.rows.row) + " AS " + engine.QuoteIdent(j.names.index),
		column(r, j.names.file) + " AS " + engine.QuoteIdent(j.names.atFile), column(r, j.names.row) + " AS " + engine.QuoteIdent(j.names.atRow),
		visible + " AS " + engine.QuoteIdent(j.names.visible),
	}
	items = append(items, j.idItems(j.idOf(r))...)
	if !j.own {
		for _, c := range j.Columns {
			items = append(items, j.updated(c, s, r)+" AS "+engine.QuoteIdent(c.Name))
		}
	}
	equal := []string{j.within}
	for _, name := range j.m.On {
		equal = append(equal, column(s, name)+" IS NOT DISTINCT FROM "+column(r, name))
	}
	// The rows of the request may be many; the visible rows are told in the
	// subquery, where the table alone has the alias of the filter.
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + table.from + " AS " + r + " JOIN " + j.rows.from + " AS s ON " + strings.Join(equal, " AND ")
	names, _, err := j.spool(ctx, sql, append(slices.Clone(table.sources), j.rows.sources...)...)
	if err != nil {
		return err
	}
	columns := []engine.Column{
		{Name: j.names.index, Type: "BIGINT"}, {Name: j.names.atFile, Type: "UINTEGER"}, {Name: j.names.atRow, Type: "BIGINT"}, {Name: j.names.visible, Type: "BOOLEAN"},
	}
	columns = j.withID(columns)
	if !j.own {
		columns = append(columns, j.Columns...)
	}
	j.met = j.scratchFiles(columns, names...)
	return j.keepVisible(ctx)
}

// blocks is the condition under which a hidden row is in the way of the one of the
// request that meets it: they have the same key.
func (j *merge) blocks(rows string) string {
	keys := j.Rules.AllKeys()
	at := slices.IndexFunc(keys, j.metAll)
	if at < 0 {
		return "false"
	}
	parts := []string{"true"}
	for _, name := range keyColumns(keys[at]) {
		if !keys[at].NullsEqual {
			parts = append(parts, column(rows, name)+" IS NOT NULL")
		}
	}
	return "(" + strings.Join(parts, " AND ") + ")"
}

// keepVisible leaves out what the writer does not see: visible is FALSE for a row
// that is in the way, and NULL for one that is not.
func (j *merge) keepVisible(ctx context.Context) error {
	visible := engine.QuoteIdent(j.names.visible)
	counts, err := j.numbers(ctx, "SELECT "+engine.QuoteIdent(j.names.atFile)+"::BIGINT, count(*) FILTER ("+visible+"), count(*) FILTER (NOT "+visible+"),"+
		" (SELECT count(DISTINCT "+engine.QuoteIdent(j.names.index)+") FROM "+j.met.from+" WHERE "+visible+")"+
		" FROM "+j.met.from+" GROUP BY 1 ORDER BY 1", j.met.sources...)
	if err != nil {
		return err
	}
	for _, c := range counts {
		if c[2] > 0 {
			return ErrHiddenMatch
		}
		if c[1] > 0 {
			j.metFiles = append(j.metFiles, int(c[0]))
		}
		j.metCount, j.metRows = j.metCount+c[1], c[3]
	}
	j.met.from = "(SELECT * FROM " + j.met.from + " WHERE " + visible + ")"
	return nil
}

// replacesWhole reports whether an update leaves nothing of the row that it changes:
// every row of the request names every column, and where values are equal they are
// the same, which cannot be said of floats.
func (j *merge) replacesWhole() bool {
	for _, c := range j.Columns {
		if !has(j.m.Columns, c.Name) || slices.ContainsFunc(j.m.Shapes, func(shape []string) bool { return !slices.Contains(shape, c.Name) }) {
			return false
		}
	}
	return !slices.ContainsFunc(j.on.Columns, func(c constraint.KeyColumn) bool { return c.Type == delta.Float || c.Type == delta.Double })
}

// metAll reports whether On is a whole key and nothing beside it. A row with the key
// of a new one was met then: a visible one is what the new row replaces, a hidden
// one has ended the merge.
func (j *merge) metAll(k constraint.Key) bool {
	return len(k.Columns) == len(j.m.On) && !slices.ContainsFunc(keyColumns(k), func(name string) bool { return !slices.Contains(j.m.On, name) })
}

// updated is the value of a column after an update: that of the request where the
// row names the column.
func (j *merge) updated(c engine.Column, rows, table string) string {
	naming, others := j.m.naming(c.Name, column(rows, j.m.ShapeColumn))
	switch {
	case naming == "" || slices.Contains(j.m.On, c.Name):
		return column(table, c.Name)
	case !others:
		return column(rows, c.Name)
	}
	return "CASE WHEN " + naming + " THEN " + column(rows, c.Name) + " ELSE " + column(table, c.Name) + " END"
}

// run judges and writes what follows from the meetings.
func (j *merge) run(ctx context.Context) (Result, error) {
	out := Result{Snapshot: j.Snapshot}
	var h hit
	if j.metCount > 0 && j.m.Matched != MatchedIgnore {
		var err error
		if h, err = j.hitFiles(j.list, j.metFiles, j.met); err != nil {
			return Result{}, err
		}
		if j.m.Matched == MatchedDelete {
			out.Deleted = j.metCount
		} else {
			out.Updated = j.metCount
		}
	}
	f, rows, err := j.fresh(ctx)
	if err != nil {
		return Result{}, err
	}
	out.Inserted = rows - out.Updated
	p := plan{operation: "MERGE", before: typeBefore, metrics: map[string]int64{
		"numSourceRows": j.m.Count, "numTargetRowsInserted": out.Inserted, "numTargetRowsUpdated": out.Updated, "numTargetRowsDeleted": out.Deleted,
	}}
	if j.m.Matched == MatchedDelete {
		p.before = typeDelete
	}
	switch {
	case rows > 0:
		out.Snapshot, err = j.replaceJudged(ctx, h, f, p)
	case len(h.files) > 0:
		out.Snapshot, err = j.replace(ctx, h, nil, p)
	}
	return out, err
}

// fresh are the rows that come, and their number. Where each is a row of the request
// as it stands, and comes once, they are read where they are.
func (j *merge) fresh(ctx context.Context) (fresh, int64, error) {
	index, row := engine.QuoteIdent(j.names.index), column("s", j.rows.row)
	items := func(columns, index, changed, id string) string {
		all := append([]string{columns, index, changed + " AS " + engine.QuoteIdent(j.names.changed)}, j.idItems(id)...)
		return "SELECT " + strings.Join(all, ", ")
	}
	staged := func(changed, id string) string {
		return items(columnList("s", j.Columns), row+" AS "+index, changed, id) + " FROM " + j.rows.from + " AS s"
	}
	meets := " JOIN " + j.met.from + " AS d ON " + row + " = d." + index
	met, others := staged("true", j.idOf("d"))+meets, staged("false", "NULL::BIGINT")+" ANTI"+meets
	both := unique(append(slices.Clone(j.rows.sources), j.met.sources...))
	if !j.own {
		met = items(columnList("", j.Columns), index, "true", j.idOf("")) + " FROM " + j.met.from
	}
	all := met + " UNION ALL " + others
	updates, once := j.m.Matched == MatchedUpdate && j.metCount > 0, j.own && j.metRows == j.metCount
	switch {
	case !updates && !j.m.Insert:
		return fresh{}, 0, nil
	case !updates:
		return j.inPlace(others, both), j.m.Count - j.metRows, nil
	case once && !j.m.Insert:
		return j.inPlace(met, both), j.metCount, nil
	case once && (j.Snapshot.ChangeFeed() || j.ids != nil):
		return j.inPlace(all, both), j.m.Count, nil
	case once: // nobody asks which of them are changes
		return j.inPlace(staged("NULL", ""), j.rows.sources), j.m.Count, nil
	case !j.m.Insert:
		all = met
	}
	names, rows, err := j.spool(ctx, all, both...)
	return j.spooled(names), rows, err
}

// inPlace are rows of the request. No two of them meet in the columns of On: that
// was judged before.
func (j *merge) inPlace(sql string, sources []engine.Source) fresh {
	return fresh{
		relation: relation{from: "(" + sql + ")", sources: sources, row: j.names.index},
		changed:  j.names.changed, free: j.metAll, single: j.metAll,
		index: func(_ context.Context, rows []int64) (map[int64]int64, error) {
			places := make(map[int64]int64, len(rows))
			for _, r := range rows {
				places[r] = r
			}
			return places, nil
		},
	}
}

// spooled are the rows of files, which know their place in the request.
func (j *merge) spooled(names []string) fresh {
	columns := append(slices.Clone(j.Columns), engine.Column{Name: j.names.index, Type: "BIGINT"}, engine.Column{Name: j.names.changed, Type: "BOOLEAN"})
	r := j.scratchFiles(j.withID(columns), names...)
	return fresh{relation: r, changed: j.names.changed, free: j.metAll, index: func(ctx context.Context, rows []int64) (map[int64]int64, error) {
		texts := make([]string, len(rows))
		for i, n := range rows {
			texts[i] = strconv.FormatInt(n, 10)
		}
		found, err := j.numbers(ctx, "SELECT "+engine.QuoteIdent(r.row)+", "+engine.QuoteIdent(j.names.index)+" FROM "+r.from+
			" WHERE "+engine.QuoteIdent(r.row)+" IN ("+strings.Join(texts, ", ")+")", r.sources...)
		places := make(map[int64]int64, len(found))
		for _, pair := range found {
			places[pair[0]] = pair[1]
		}
		return places, err
	}}
}

// unique drops sources that stand twice.
func unique(sources []engine.Source) []engine.Source {
	var out []engine.Source
	for _, s := range sources {
		if !slices.ContainsFunc(out, func(o engine.Source) bool { return o.Database() == s.Database() }) {
			out = append(out, s)
		}
	}
	return out
}
