package values

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/cluster"
)

// FormsResult is the result of [StandardizeValues].
type FormsResult struct {
	Columns []FormsColumn       `json:"columns" doc:"Columns with values in several forms"`
	Rows    []analysis.CitedRow `json:"rows" doc:"Examples of rows with another form than the canonical one"`
	// Clusters counts those of all columns.
	Clusters int `json:"clusters" doc:"Number of clusters found, including those left out"`
	// Analysed counts the columns whose values were compared.
	Analysed int `json:"analysed" doc:"Number of columns whose values were compared"`
}

// FormsColumn describes the forms of the values of a column.
type FormsColumn struct {
	Column         string    `json:"column"`
	DistinctValues int64     `json:"distinctValues" doc:"Number of distinct values that were compared"`
	Clusters       []Cluster `json:"clusters" doc:"Those with the most rows first"`
	TotalClusters  int       `json:"totalClusters" doc:"Number of clusters found, including those left out"`
	Candidates     []Cluster `json:"candidates" doc:"Values that only have a key in common, most likely by chance; none is proposed"`
}

// Cluster is a value with its forms.
type Cluster struct {
	Canonical  string  `json:"canonical" doc:"The form that stands for the value"`
	Confidence float64 `json:"confidence" doc:"Between 0 and 1"`
	Method     string  `json:"method" doc:"The least strict method that joined the forms: fingerprint, ngram2, ngram1, phonetic or edit"`
	Rows       int64   `json:"rows" doc:"Number of rows with any form"`
	Variants   []Form  `json:"variants" doc:"All forms, the canonical one first"`
	// TotalVariants counts the forms, also those that are left out.
	TotalVariants int `json:"totalVariants" doc:"Number of forms, including those left out"`
}

// Form is one spelling of a value.
type Form struct {
	Value string `json:"value"`
	Rows  int64  `json:"rows"`
}

const (
	// maxVariants bounds the forms of a cluster in a result.
	maxVariants = 50
	// perColumn is the number of clusters from which a column gets one proposal for all.
	perColumn = 5
	// maxProposedForms and maxProposedText bound the forms of one proposal, and their length.
	maxProposedForms = 1_000
	maxProposedText  = 24 << 10
	// maxShownText bounds the texts of all proposals, in bytes, and those of the result for a
	// small limit.
	maxShownText = 64 << 10
	// maxClusterText is what each cluster of the limit adds to maxShownText.
	maxClusterText = 400
	// freeText is the average length of texts that are not values but prose.
	freeText = 60
)

// StandardizeValues finds values of text columns that occur in several forms.
func StandardizeValues(ctx context.Context, in analysis.Input) (analysis.Answer, error) {
	var texts []analysis.Column
	for _, c := range in.Columns {
		if c.Kind() == analysis.KindText && !c.Key && !c.Unique {
			texts = append(texts, c)
		}
	}
	all, err := profiles(ctx, in, texts)
	if err != nil {
		return analysis.Answer{}, err
	}
	w := formsWork{in: in, result: FormsResult{Columns: []FormsColumn{}}}
	for i, p := range all {
		in.Progress(i, len(all)+1)
		if p.distinct < 2 || p.length > freeText {
			continue
		}
		if err := w.column(ctx, p); err != nil {
			return analysis.Answer{}, fmt.Errorf("forms of column %s: %w", p.column.Name, err)
		}
	}
	answer, err := w.answer(ctx)
	in.Progress(len(all)+1, len(all)+1)
	return answer, err
}

// formsWork is the state of one call of StandardizeValues.
type formsWork struct {
	in       analysis.Input
	result   FormsResult
	found    []columnClusters
	sampled  bool
	warnings []string
	// shownText and proposedText are the bytes of texts in the result and in proposals.
	shownText, proposedText int
}

// columnClusters are the clusters of a column.
type columnClusters struct {
	column   analysis.Column
	distinct int64
	clusters []cluster.Cluster
	// total is the number of clusters, also of those that are left out of clusters.
	total int
	// candidates are forms that only have a key in common.
	candidates []cluster.Cluster
}

// column finds the clusters of a column.
func (w *formsWork) column(ctx context.Context, p profile) error {
	forms, cut, err := readForms(ctx, w.in, p.column)
	if err != nil {
		return err
	}
	if cut {
		w.sampled = true
		w.warnings = append(w.warnings, fmt.Sprintf("Only the %d most frequent values of %s were compared.", len(forms),
			analysis.InQuotes(p.column.Name)))
	}
	if identifiers(forms, p) {
		return nil
	}
	w.result.Analysed++
	clusters, candidates := cluster.Of(forms)
	clusters, candidates = withoutWords(clusters), withoutWords(candidates)
	if len(clusters)+len(candidates) == 0 {
		return nil
	}
	w.result.Clusters += len(clusters)
	kept := clusters[:min(len(clusters), max(w.in.Limit, maxProposedForms))]
	w.found = append(w.found, columnClusters{p.column, int64(len(forms)), slices.Clone(kept), len(clusters),
		slices.Clone(candidates[:min(len(candidates), w.in.Limit)])})
	return nil
}

// withoutWords leaves out forms that are words for missing values.
func withoutWords(clusters []cluster.Cluster) []cluster.Cluster {
	out := clusters[:0]
	for _, c := range clusters {
		c.Forms = slices.DeleteFunc(c.Forms, func(f cluster.Form) bool { return meaningOf(f.Text) == always })
		if len(c.Forms) > 1 {
			out = append(out, c)
		}
	}
	return out
}

// identifiers reports whether nearly all values are different and most are single words with
// digits.
func identifiers(forms []cluster.Form, p profile) bool {
	if float64(len(forms)) < 0.9*float64(p.short) {
		return false
	}
	codes := 0
	for _, f := range forms {
		if hasDigit(f.Text) && !strings.ContainsAny(strings.TrimSpace(f.Text), " \t") {
			codes++
		}
	}
	return 2*codes > len(forms)
}

// answer shows the clusters with the most rows.
func (w *formsWork) answer(ctx context.Context) (analysis.Answer, error) {
	allowed := w.allowed()
	cited := newCitations(w.in)
	a := analysis.Answer{Sampled: w.sampled}
	var sentences []string
	sum, shown := 0.0, 0
	for i, found := range w.found {
		if allowed[i]+len(found.candidates) == 0 {
			continue
		}
		out := FormsColumn{Column: found.column.Name, DistinctValues: found.distinct, Clusters: []Cluster{}, TotalClusters: found.total,
			Candidates: []Cluster{}}
		for _, c := range found.clusters[:allowed[i]] {
			shown++
			sum += c.Confidence
			out.Clusters = append(out.Clusters, w.shownCluster(c))
			tag, err := cited.add(ctx, found.column, among(found.column, []string{c.Forms[1].Text}))
			if err != nil {
				return a, err
			}
			if tag != "" && len(sentences) < 4 {
				sentences = append(sentences, fmt.Sprintf("In %s, %s also occurs as %s %s.", analysis.InQuotes(found.column.Name),
					analysis.InQuotes(c.Forms[0].Text), analysis.InQuotes(c.Forms[1].Text), tag))
			}
		}
		for _, c := range found.candidates {
			out.Candidates = append(out.Candidates, w.shownCluster(c))
		}
		w.result.Columns = append(w.result.Columns, out)
		proposals, err := w.propose(ctx, found, len(out.Clusters))
		if err != nil {
			return a, err
		}
		a.Proposals = append(a.Proposals, proposals[:min(len(proposals), w.in.Limit-len(a.Proposals))]...)
	}
	w.result.Rows, a.References = cited.rows, cited.references
	if w.result.Clusters > shown {
		w.warnings = append(w.warnings, fmt.Sprintf("The result shows %d of %d clusters.", shown, w.result.Clusters))
	}
	a.Result, a.Warnings, a.Confidence = w.result, w.warnings, 0.9
	if shown > 0 {
		a.Confidence = analysis.RoundConfidence(sum / float64(shown))
	}
	first := fmt.Sprintf("%s in several forms, in %s; %s compared.", analysis.Plural(int64(w.result.Clusters), "value occurs", "values occur"),
		analysis.Plural(int64(len(w.found)), "column", "columns"), analysis.Plural(int64(w.result.Analysed), "column was", "columns were"))
	a.Text = strings.Join(append([]string{first}, sentences...), " ")
	return a, nil
}

// allowed returns how many clusters of each column are among the shown ones, which are those
// with the most rows of all columns.
func (w *formsWork) allowed() []int {
	type place struct {
		column int
		rows   int64
	}
	var places []place
	for i, found := range w.found {
		for _, c := range found.clusters[:min(len(found.clusters), w.in.Limit)] {
			places = append(places, place{i, c.Rows})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(b.rows, a.rows) })
	allowed := make([]int, len(w.found))
	for _, p := range places[:min(len(places), w.in.Limit)] {
		allowed[p.column]++
	}
	return allowed
}

func (w *formsWork) shownCluster(c cluster.Cluster) Cluster {
	out := Cluster{Canonical: c.Forms[0].Text, Confidence: analysis.RoundConfidence(c.Confidence), Method: c.Method, Rows: c.Rows,
		Variants: []Form{}, TotalVariants: len(c.Forms)}
	for i, f := range c.Forms[:min(maxVariants, len(c.Forms))] {
		if w.shownText += len(f.Text); i > 1 && w.shownText > maxShownText+w.in.Limit*maxClusterText {
			break
		}
		out.Variants = append(out.Variants, Form{f.Text, f.Rows})
	}
	return out
}

// propose proposes to replace forms by the canonical ones: each of the shown clusters by
// itself, or all clusters of the column together if there are many.
func (w *formsWork) propose(ctx context.Context, found columnClusters, shown int) ([]analysis.Proposal, error) {
	if !changeable(found.column) || shown == 0 || w.proposedText > maxShownText {
		return nil, nil
	}
	if found.total > perColumn {
		p, err := w.proposeAll(ctx, found)
		return []analysis.Proposal{p}, err
	}
	var out []analysis.Proposal
	for _, c := range found.clusters[:shown] {
		if w.proposedText > maxShownText {
			break
		}
		var texts []string
		size := 0
		for _, f := range c.Forms[1:] {
			if size += len(f.Text); len(texts) == maxProposedForms || size > maxProposedText {
				break
			}
			texts = append(texts, f.Text)
		}
		title := fmt.Sprintf("Write %s as %s in %s", quotes(texts), analysis.InQuotes(c.Forms[0].Text), analysis.InQuotes(found.column.Name))
		p, err := w.proposal(ctx, found.column, title, texts, analysis.QuoteSQL(c.Forms[0].Text), c.Confidence)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// proposeAll proposes to replace the forms of as many clusters as one request holds.
func (w *formsWork) proposeAll(ctx context.Context, found columnClusters) (analysis.Proposal, error) {
	var texts []string
	var cases strings.Builder
	cases.WriteString("CASE " + found.column.Quoted())
	done, confidence := 0, 1.0
	for _, c := range found.clusters {
		if len(texts) >= maxProposedForms || cases.Len() > maxProposedText {
			break
		}
		done++
		confidence = min(confidence, c.Confidence)
		for _, f := range c.Forms[1:] {
			if len(texts) >= maxProposedForms || cases.Len() > maxProposedText {
				break
			}
			texts = append(texts, f.Text)
			cases.WriteString(" WHEN " + analysis.QuoteSQL(f.Text) + " THEN " + analysis.QuoteSQL(c.Forms[0].Text))
		}
	}
	cases.WriteString(" END")
	title := fmt.Sprintf("Write the variants of %s of %s in their canonical forms", analysis.Plural(int64(done), "value", "values"),
		analysis.InQuotes(found.column.Name))
	return w.proposal(ctx, found.column, title, texts, cases.String(), confidence)
}

func (w *formsWork) proposal(ctx context.Context, c analysis.Column, title string, texts []string, set string, confidence float64,
) (analysis.Proposal, error) {
	where := among(c, texts)
	w.proposedText += len(where) + len(set)
	rows, err := w.in.Rows(ctx, where, c)
	if err != nil {
		return analysis.Proposal{}, err
	}
	title += ", in " + analysis.Plural(rows, "row", "rows") + "."
	if c.Domain != "" {
		title += " The column has a domain, which must allow the new value."
	}
	return analysis.Proposal{Title: title, Columns: []string{c.Name}, Confidence: analysis.RoundConfidence(confidence),
		Change: analysis.UpdateRows{Where: where, Set: map[string]string{c.Name: set}}, Effect: analysis.Effect{Rows: &rows}}, nil
}
