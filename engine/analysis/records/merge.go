package records

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// Bounds of proposals.
const (
	// sure is the confidence from which on a merge is proposed.
	sure = 0.85
	// maxMerged is the number of rows of a merge.
	maxMerged = 20
)

// Merges is the result of [MergeRecords].
type Merges struct {
	RowsCompared    int64          `json:"rowsCompared" doc:"Number of rows that were compared"`
	ComparedColumns []string       `json:"comparedColumns" doc:"Columns whose values are evidence that rows describe one thing"`
	ClusterCount    int64          `json:"clusterCount" doc:"Number of all groups of duplicates"`
	Clusters        []MergeCluster `json:"clusters" doc:"Groups that can be merged, from the highest confidence"`
	// Rows are those of the clusters.
	Rows []analysis.CitedRow `json:"rows" doc:"Rows of the clusters"`
}

// MergeCluster is a group of rows with the row that they make together.
type MergeCluster struct {
	ID         int     `json:"id" doc:"Number of the cluster, from 1"`
	Confidence float64 `json:"confidence"`
	Rows       []int   `json:"rows" doc:"Numbers of the cluster's rows in rows"`
	// Keep is the key of the row that stays, Delete has those of the others.
	Keep   map[string]*string   `json:"keep" doc:"Key of the row that stays; null without a primary key"`
	Delete []map[string]*string `json:"delete" doc:"Keys of the rows that are deleted"`
	Fields []Survivor           `json:"fields" doc:"Columns in which the rows differ, with the value that stays"`
}

// Survivor is the value of a column that stays when rows are merged.
type Survivor struct {
	Column string  `json:"column"`
	Value  *string `json:"value" doc:"The value as text"`
	Rule   string  `json:"rule" enum:"only_value,most_frequent,newest,oldest,most_usual,most_complete,kept_row" doc:"Why this value stays"`
	// FromRow is the number of a row that has the value.
	FromRow int `json:"fromRow" doc:"Number of a row that has the value, in rows"`
	// Disagreeing is the number of rows with another value, or none.
	Disagreeing int `json:"disagreeing" doc:"Number of rows with another value or none"`
}

// MergeRecords proposes to merge groups of duplicates to one row each. Its result is a
// [Merges]; each proposal is an [analysis.MergeRows]. It proposes nothing for rows whose
// identifiers or long texts contradict each other.
func MergeRecords(ctx context.Context, in analysis.Input) (analysis.Answer, error) {
	f, err := find(ctx, in)
	if err != nil {
		return analysis.Answer{}, err
	}
	m := Merges{RowsCompared: f.compared, ComparedColumns: []string{}, ClusterCount: int64(len(f.clusters)), Clusters: []MergeCluster{},
		Rows: []analysis.CitedRow{}}
	for _, c := range f.shown() {
		m.ComparedColumns = append(m.ComparedColumns, c.Name)
	}
	answer := analysis.Answer{Proposals: []analysis.Proposal{}, References: []analysis.Reference{}, Sampled: f.sampled}
	mergers, err := f.mergers(ctx, in)
	if err != nil {
		return analysis.Answer{}, err
	}
	bytes := 0
	for _, group := range mergers {
		if bytes > maxShownBytes {
			f.warn("More groups can be merged than are listed.")
			break
		}
		bytes += group.add(&m, &answer)
	}
	if len(m.Clusters) > 0 && len(f.plan.key) == 0 {
		f.warn("The table has no visible primary key, so no request can merge its rows.")
	}
	answer.Result, answer.Warnings = m, f.warnings
	answer.Confidence = meanConfidence(f.clusters)
	answer.Text = m.text(in.Table.Name, answer)
	return answer, nil
}

// mergers reads the rows of the first clusters that can be merged.
func (f *found) mergers(ctx context.Context, in analysis.Input) ([]*merger, error) {
	var chosen []cluster
	contradicting, rows := 0, 0
	for _, c := range f.clusters {
		switch {
		case c.confidence < sure || c.rows > maxMerged:
			continue
		case len(chosen) == min(in.Limit, maxShownClusters) || rows+c.rows > maxShownRows:
			continue
		case f.contradicts(c):
			contradicting++
			continue
		}
		rows += c.rows
		chosen = append(chosen, c)
	}
	read, err := f.readMergers(ctx, in, chosen)
	if err != nil {
		return nil, err
	}
	var out []*merger
	long := 0
	for _, m := range read {
		switch {
		case m.long:
			long++
		case m.contradicts(f.identifiers):
			contradicting++
		default:
			out = append(out, m)
		}
	}
	if contradicting > 0 {
		f.warn("%s not merged, because identifiers contradict each other.", analysis.Plural(int64(contradicting), "group was", "groups were"))
	}
	if long > 0 {
		f.warn("%s not merged, because long texts or nested values differ.", analysis.Plural(int64(long), "group was", "groups were"))
	}
	return out, nil
}

// contradicts reports whether records of a cluster differ in a code that nearly tells all
// records apart.
func (f *found) contradicts(c cluster) bool {
	t := f.table
	for j, field := range t.fields {
		if field.kind != digits || 2*(field.values.size()) < field.filled || field.filled < 10 {
			continue
		}
		for i, a := range c.records {
			for _, b := range c.records[:i] {
				if field.compare(t.row(int(a))[j], t.row(int(b))[j]) == different {
					return true
				}
			}
		}
	}
	return false
}

// add adds a cluster with its rows, references and proposal. It returns the size of their
// texts in bytes.
func (g *merger) add(m *Merges, answer *analysis.Answer) int {
	first := len(m.Rows)
	c := MergeCluster{ID: len(m.Clusters) + 1, Confidence: rounded(g.confidence), Rows: []int{}, Delete: []map[string]*string{},
		Fields: g.survivors(first)}
	bytes := 0
	for i, row := range g.rows {
		cited := analysis.CitedRow{Row: first + i + 1, Values: map[string]*string{}}
		for j, column := range g.columns {
			if g.shows[column.Name] || slices.ContainsFunc(c.Fields, func(s Survivor) bool { return s.Column == column.Name }) {
				cited.Values[column.Name] = row.values[j]
				bytes += len(column.Name) + 16
				if row.values[j] != nil {
					bytes += len(*row.values[j])
				}
			}
		}
		if g.key != nil {
			cited.Key = g.keyOf(i)
			if i == g.kept {
				c.Keep = cited.Key
			} else {
				c.Delete = append(c.Delete, cited.Key)
			}
		}
		c.Rows = append(c.Rows, cited.Row)
		m.Rows = append(m.Rows, cited)
	}
	for _, field := range c.Fields {
		j := slices.IndexFunc(g.columns, func(c analysis.Column) bool { return c.Name == field.Column })
		for i, row := range g.rows {
			if len(answer.References) < maxReferences {
				answer.References = append(answer.References, analysis.Reference{Row: first + i + 1, Column: field.Column, Value: row.values[j]})
			}
		}
	}
	m.Clusters = append(m.Clusters, c)
	answer.Proposals = append(answer.Proposals, g.proposal(c))
	return bytes
}

// proposal returns the change that merges a cluster.
func (g *merger) proposal(c MergeCluster) analysis.Proposal {
	p := analysis.Proposal{Confidence: c.Confidence, Columns: []string{}}
	golden := map[string]any{}
	for _, field := range c.Fields {
		p.Columns = append(p.Columns, field.Column)
		j := slices.IndexFunc(g.columns, func(c analysis.Column) bool { return c.Name == field.Column })
		if own := g.rows[g.kept].values[j]; field.FromRow != c.Rows[g.kept] && !same(own, field.Value) {
			golden[field.Column] = analysis.JSONValue(g.columns[j], field.Value)
		}
	}
	if g.key == nil {
		p.Title = fmt.Sprintf("Merge %d rows that describe one thing. No request can do this without a primary key.", len(g.rows))
		return p
	}
	change := analysis.MergeRows{Rows: []map[string]any{}, Delete: []map[string]any{}}
	written := int64(len(g.rows) - 1)
	if len(golden) > 0 {
		for name, value := range g.jsonKey(g.kept) {
			golden[name] = value
		}
		change.Rows = append(change.Rows, golden)
		written++
	}
	for i := range g.rows {
		if i != g.kept {
			change.Delete = append(change.Delete, g.jsonKey(i))
		}
	}
	p.Change, p.Effect.Rows = change, analysis.Number(written)
	p.Title = fmt.Sprintf("Merge %d rows that describe one thing into the row with %s.", len(g.rows), g.keyWords(g.kept))
	return p
}

// text describes the result.
func (m Merges) text(table string, answer analysis.Answer) string {
	if m.ClusterCount == 0 {
		return fmt.Sprintf("No duplicates were found among %s of %s, so there is nothing to merge.", analysis.Count(m.RowsCompared, "row"), table)
	}
	groups := analysis.Plural(m.ClusterCount, "group of duplicates", "groups of duplicates")
	if len(m.Clusters) == 0 {
		return fmt.Sprintf("%s in %s cannot be merged safely.", groups, table)
	}
	var s strings.Builder
	fmt.Fprintf(&s, "The table %s has %s; a merge is described for %d. ", table, groups, len(m.Clusters))
	for _, c := range m.Clusters {
		for _, f := range c.Fields {
			tags := []string{}
			for _, r := range answer.References {
				if r.Column == f.Column && slices.Contains(c.Rows, r.Row) && len(tags) < 2 {
					tags = append(tags, r.Tag())
				}
			}
			if len(tags) == 2 {
				fmt.Fprintf(&s, "In cluster %d, %s differs: %s and %s. The rule %s decides which value stays.", c.ID, f.Column, tags[0], tags[1],
					f.Rule)
				return s.String()
			}
		}
	}
	return strings.TrimSpace(s.String())
}
