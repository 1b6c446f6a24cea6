package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// maxNotes bounds the examples of differences in a report.
const maxNotes = 20

// judgeStandardize measures the time of standardize_values and looks for the clusters of key
// collision in its answer.
func (r *runner) judgeStandardize(ctx context.Context, p *planted) error {
	var elapsed Samples
	var found [][]string
	complete := true
	for round := range r.workload.Warmup + r.workload.Runs {
		r.cfg.Progress("%s: round %d", r.workload.Name, round+1)
		var result valueClusters
		answer, took, err := r.ask(ctx, p, "organisations", "standardize_values", map[string]any{"columns": []string{"name"}}, &result)
		if err != nil {
			return err
		}
		found, complete = result.values("name"), complete && !answer.Sampled
		if round >= r.workload.Warmup {
			elapsed = append(elapsed, took.Seconds())
		}
	}
	missing, extra := missingClusters(p.Clusters, found)
	r.out.add("distinct_values", float64(r.workload.Analysis.Rows), "")
	r.out.add("clusters", float64(len(p.Clusters)), "")
	r.out.add("other_clusters", float64(extra), "")
	r.out.add("complete", float64(count(complete)), "")
	r.out.add("p50", elapsed.Median(), "s")
	r.out.addShare("recall", share(len(p.Clusters)-len(missing), len(p.Clusters)))
	for _, values := range missing[:min(maxNotes, len(missing))] {
		r.out.note("not found: %q", values)
	}
	return nil
}

// valueClusters is the result of standardize_values.
type valueClusters struct {
	Columns []struct {
		Column     string         `json:"column"`
		Clusters   []valueCluster `json:"clusters"`
		Candidates []valueCluster `json:"candidates"` // by a key alone
	} `json:"columns"`
}

// valueCluster is a value with its forms.
type valueCluster struct {
	Canonical string `json:"canonical"`
	Variants  []struct {
		Value string `json:"value"`
	} `json:"variants"`
}

// values returns the values of each cluster of a column, the canonical one included; all columns
// if column is empty.
func (v valueClusters) values(column string) (all [][]string) {
	for _, c := range v.Columns {
		if column != "" && c.Column != column {
			continue
		}
		for _, cluster := range slices.Concat(c.Clusters, c.Candidates) {
			values := []string{cluster.Canonical}
			for _, variant := range cluster.Variants {
				values = append(values, variant.Value)
			}
			all = append(all, values)
		}
	}
	return all
}

// placeholderColumns is the result of fix_nulls.
type placeholderColumns struct {
	Columns []struct {
		Column       string `json:"column"`
		Placeholders []struct {
			Value string `json:"value"`
		} `json:"placeholders"`
	} `json:"columns"`
}

// judgePlaceholders looks for the planted placeholders in the answer of fix_nulls.
func (r *runner) judgePlaceholders(ctx context.Context, p *planted) error {
	const table = "contracts"
	var result placeholderColumns
	if _, _, err := r.ask(ctx, p, table, "fix_nulls", nil, &result); err != nil {
		return err
	}
	var found []placeholder
	for _, column := range result.Columns {
		for _, value := range column.Placeholders {
			found = append(found, placeholder{table, column.Column, value.Value})
		}
	}
	missed, extra := scorePlaceholders(p.Placeholders, found)
	r.out.add("planted", float64(len(p.Placeholders)), "")
	r.out.add("found", float64(len(p.Placeholders)-len(missed)), "")
	r.out.add("not_planted", float64(len(extra)), "")
	for _, m := range missed {
		r.out.note("missed: %q in %s", m.Value, m.Column)
	}
	for _, e := range extra {
		r.out.note("not planted: %q in %s", e.Value, e.Column)
	}
	return nil
}

// judgeClasses compares the answer of classify_columns with the meaning of the columns.
func (r *runner) judgeClasses(ctx context.Context, p *planted) error {
	var found []typedColumn
	for _, table := range tablesOf(p.Columns) {
		var result struct {
			Columns []struct {
				Column string  `json:"column"`
				Type   *string `json:"semanticType"`
				PII    bool    `json:"pii"`
			} `json:"columns"`
		}
		if _, _, err := r.ask(ctx, p, table, "classify_columns", nil, &result); err != nil {
			return err
		}
		for _, c := range result.Columns {
			answer := typedColumn{Table: table, Column: c.Column, PII: c.PII}
			if c.Type != nil {
				answer.Type = *c.Type
			}
			found = append(found, answer)
		}
	}
	types, pii, wrong := scoreTypes(p.Columns, found)
	r.out.add("columns", float64(len(p.Columns)), "")
	r.out.addShare("precision", types.precision)
	r.out.addShare("recall", types.recall)
	r.out.addShare("f1", types.f1())
	r.out.addShare("pii_f1", pii.f1())
	for _, text := range wrong[:min(maxNotes, len(wrong))] {
		r.out.note("%s", text)
	}
	return nil
}

// tablesOf returns the tables of columns, each once.
func tablesOf(columns []typedColumn) (tables []string) {
	seen := map[string]bool{}
	for _, c := range columns {
		if !seen[c.Table] {
			seen[c.Table] = true
			tables = append(tables, c.Table)
		}
	}
	return tables
}

// headers is a request for a mapping, with the columns that the headers mean. An empty target
// says that no column fits.
type headers struct {
	Table   string         `json:"table"`
	Headers []sourceHeader `json:"headers"`
	Targets []string       `json:"targets"`
}

type sourceHeader struct {
	Name   string   `json:"name"`
	Values []string `json:"values,omitempty"`
}

// judgeMapping compares the first choice of suggest_mapping with what each header means.
func (r *runner) judgeMapping(ctx context.Context, p *planted) error {
	right, all := 0, 0
	var wrong []string
	for _, request := range p.Requests {
		var result struct {
			Mappings []struct {
				Source string  `json:"source"`
				Target *string `json:"target"`
			} `json:"mappings"`
		}
		if _, _, err := r.ask(ctx, p, request.Table, "suggest_mapping", request.options(), &result); err != nil {
			return err
		}
		targets := map[string]string{}
		for _, m := range result.Mappings {
			if m.Target != nil {
				targets[m.Source] = *m.Target
			}
		}
		for i, header := range request.Headers {
			all++
			if targets[header.Name] == request.Targets[i] {
				right++
				continue
			}
			wrong = append(wrong, fmt.Sprintf("%s: %q is %q, not %q", request.Table, header.Name, request.Targets[i], targets[header.Name]))
		}
	}
	r.out.add("headers", float64(all), "")
	r.out.addShare("top1", share(right, all))
	if len(wrong) > 0 {
		r.out.note("%s", strings.Join(wrong, "; "))
	}
	return nil
}

// options returns the members of the request. Headers without values are sent as texts.
func (h headers) options() map[string]any {
	var columns []any
	for _, header := range h.Headers {
		if len(header.Values) == 0 {
			columns = append(columns, header.Name)
			continue
		}
		columns = append(columns, header)
	}
	return map[string]any{"source_columns": columns}
}
