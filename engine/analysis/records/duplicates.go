package records

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// Bounds of an answer.
const (
	// maxListed is the number of clusters of an answer, whatever the limit of the request.
	maxListed = 10_000
	// maxMembers is the number of listed keys.
	maxMembers = 40_000
	// maxShownClusters and maxShownRows bound the clusters whose rows are shown, and
	// maxShownBytes their text.
	maxShownClusters = 100
	maxShownRows     = 300
	maxShownBytes    = 120_000
	// maxMemberBytes bounds the text of the listed keys.
	maxMemberBytes = 5_000_000
	// maxReferences is the number of cells that an answer refers to.
	maxReferences = 200
)

// Duplicates is the result of [FindDuplicates].
type Duplicates struct {
	RowsCompared    int64    `json:"rowsCompared" doc:"Number of rows that were compared"`
	ComparedColumns []string `json:"comparedColumns" doc:"Columns whose values are evidence that rows describe one thing"`
	ExactDuplicates int64    `json:"exactDuplicates" doc:"Number of rows that repeat another row in all columns but identifiers"`
	ClusterCount    int64    `json:"clusterCount" doc:"Number of all groups of duplicates"`
	DuplicateRows   int64    `json:"duplicateRows" doc:"Number of rows in all groups, except one row of each group"`
	// Clusters are the listed ones, from the highest confidence.
	Clusters []DuplicateCluster  `json:"clusters" doc:"Groups of duplicates, from the highest confidence"`
	Members  []Member            `json:"members" doc:"Keys of the rows of the listed clusters; empty without a primary key"`
	Rows     []analysis.CitedRow `json:"rows" doc:"Rows of the first clusters"`
}

// DuplicateCluster is a group of rows that describe one thing.
type DuplicateCluster struct {
	ID         int     `json:"id" doc:"Number of the cluster, from 1"`
	Confidence float64 `json:"confidence"`
	Exact      bool    `json:"exact" doc:"Whether the rows are equal in all columns but identifiers"`
	Size       int     `json:"size" doc:"Number of rows"`
	Rows       []int   `json:"rows" doc:"Numbers of the cluster's rows in rows; empty if they are not shown"`
}

// Member is a row of a cluster.
type Member struct {
	Cluster int                `json:"cluster"`
	Key     map[string]*string `json:"key"`
}

// FindDuplicates finds rows that describe the same thing: equal ones, and those that differ by
// typing errors, spellings, swapped or missing values. Its result is a [Duplicates]. It proposes
// nothing: see [MergeRecords].
func FindDuplicates(ctx context.Context, in analysis.Input) (analysis.Answer, error) {
	f, err := find(ctx, in)
	if err != nil {
		return analysis.Answer{}, err
	}
	d := Duplicates{RowsCompared: f.compared, ComparedColumns: []string{}, ExactDuplicates: f.exact, ClusterCount: int64(len(f.clusters)),
		Clusters: []DuplicateCluster{}, Members: []Member{}, Rows: []analysis.CitedRow{}}
	for _, p := range f.plan.chosen {
		d.ComparedColumns = append(d.ComparedColumns, p.column.Name)
	}
	for _, c := range f.clusters {
		d.DuplicateRows += int64(c.rows - 1)
	}
	listed := f.clusters[:min(len(f.clusters), in.Limit, maxListed)]
	groups, err := f.show(ctx, in, listed)
	if err != nil {
		return analysis.Answer{}, err
	}
	for i, c := range listed {
		out := DuplicateCluster{ID: i + 1, Confidence: rounded(c.confidence), Exact: c.exact(), Size: c.rows, Rows: []int{}}
		if i < len(groups) {
			for _, row := range groups[i] {
				row.Row = len(d.Rows) + 1
				out.Rows = append(out.Rows, row.Row)
				d.Rows = append(d.Rows, row)
			}
		}
		d.Clusters = append(d.Clusters, out)
	}
	d.Members = f.members(listed)
	answer := analysis.Answer{Result: d, Confidence: meanConfidence(f.clusters), Sampled: f.sampled, Warnings: f.warnings}
	answer.References = d.references()
	answer.Text = d.text(in.Table.Name, answer.References)
	return answer, nil
}

// rounded rounds a confidence to three digits. It is never 1: no evidence is certain.
func rounded(confidence float64) float64 { return min(float64(int(confidence*1000+0.5))/1000, 0.999) }

// meanConfidence returns the mean confidence of clusters. If there are none, it is the
// confidence that the table has no duplicates.
func meanConfidence(clusters []cluster) float64 {
	if len(clusters) == 0 {
		return 0.9
	}
	sum := 0.0
	for _, c := range clusters {
		sum += c.confidence
	}
	return rounded(sum / float64(len(clusters)))
}

// members lists the keys of the rows of clusters, as far as they fit.
func (f *found) members(listed []cluster) []Member {
	out := []Member{}
	if len(f.plan.key) == 0 {
		return out
	}
	bytes := 0
	for i, c := range listed {
		for _, key := range f.keysOf(c) {
			member := Member{Cluster: i + 1, Key: map[string]*string{}}
			for k, part := range key {
				part = analysis.Cut(part, analysis.MaxText)
				bytes += len(part) + len(f.plan.key[k].Name) + 32
				member.Key[f.plan.key[k].Name] = &part
			}
			if len(out) == maxMembers || bytes > maxMemberBytes {
				f.warn("The keys of the clusters from %d on are not listed.", i+1)
				return out
			}
			out = append(out, member)
		}
	}
	return out
}

// keysOf returns the keys of the rows of a cluster, in order.
func (f *found) keysOf(c cluster) [][]string {
	var out [][]string
	for _, record := range c.records {
		for i := f.table.first[record]; i < f.table.first[record+1]; i++ {
			out = append(out, splitKey(f.table.keys.at(int(i))))
		}
	}
	slices.SortFunc(out, compareKeys)
	return out
}

// compareKeys orders keys: shorter parts first, so that numbers are in their order.
func compareKeys(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if len(a[i]) != len(b[i]) {
			return len(a[i]) - len(b[i])
		}
		if c := strings.Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return len(a) - len(b)
}

// references returns the cells that differ within a cluster.
func (d Duplicates) references() []analysis.Reference {
	out := []analysis.Reference{}
	for _, c := range d.Clusters {
		for _, column := range d.ComparedColumns {
			if !d.differs(c, column) {
				continue
			}
			for _, row := range c.Rows {
				if len(out) == maxReferences {
					return out
				}
				out = append(out, analysis.Reference{Row: row, Column: column, Value: d.Rows[row-1].Values[column]})
			}
		}
	}
	return out
}

// differs reports whether the shown rows of a cluster have different values in a column.
func (d Duplicates) differs(c DuplicateCluster, column string) bool {
	for _, row := range c.Rows[min(1, len(c.Rows)):] {
		a, b := d.Rows[c.Rows[0]-1].Values[column], d.Rows[row-1].Values[column]
		if (a == nil) != (b == nil) || a != nil && *a != *b {
			return true
		}
	}
	return false
}

// text describes the result.
func (d Duplicates) text(table string, references []analysis.Reference) string {
	if d.ClusterCount == 0 {
		return fmt.Sprintf("No duplicates were found among %s of %s.", analysis.Count(d.RowsCompared, "row"), table)
	}
	s := fmt.Sprintf("Among %s of %s, %s another row, in %s. ", analysis.Count(d.RowsCompared, "row"), table,
		analysis.Plural(d.DuplicateRows, "row repeats", "rows repeat"), analysis.Count(d.ClusterCount, "group"))
	if d.ExactDuplicates > 0 {
		s += fmt.Sprintf("%s another row in all columns but identifiers. ", analysis.Plural(d.ExactDuplicates, "row equals", "rows equal"))
	}
	if len(references) > 1 && references[0].Column == references[1].Column && references[0].Row+1 == references[1].Row {
		s += fmt.Sprintf("For example, two rows of one group differ in %s: %s and %s. ", references[0].Column, references[0].Tag(),
			references[1].Tag())
	}
	return strings.TrimSpace(s)
}
