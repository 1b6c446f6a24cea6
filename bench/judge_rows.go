package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// judgeDuplicates measures the time of find_duplicates and compares its clusters with the
// persons of the rows, and with splink's clusters if it is a peer.
func (r *runner) judgeDuplicates(ctx context.Context, p *planted) error {
	var elapsed Samples
	var found score
	var clusters [][]int
	complete := true
	for round := range r.workload.Warmup + r.workload.Runs {
		r.cfg.Progress("%s: round %d", r.workload.Name, round+1)
		var result struct {
			Clusters []struct {
				ID   int   `json:"id"`
				Rows []int `json:"rows"`
			} `json:"clusters"`
			Members []struct {
				Cluster int               `json:"cluster"`
				Key     map[string]string `json:"key"`
			} `json:"members"`
			Rows []citedRow `json:"rows"`
		}
		answer, took, err := r.ask(ctx, p, "people", "find_duplicates", nil, &result)
		if err != nil {
			return err
		}
		ids := rowIDs(result.Rows)
		members := map[int][]int{} // ids of the rows of a cluster
		for _, m := range result.Members {
			if id, err := strconv.Atoi(m.Key["id"]); err == nil {
				members[m.Cluster] = append(members[m.Cluster], id)
			}
		}
		clusters = clusters[:0]
		for _, cluster := range result.Clusters {
			known := members[cluster.ID]
			if known != nil {
				cluster.Rows = nil // the same rows, as far as they are shown
			}
			for _, row := range cluster.Rows {
				if id, ok := ids[row]; ok {
					known = append(known, id)
				}
			}
			clusters = append(clusters, known)
		}
		complete = complete && !answer.Sampled
		found = scorePairs(clusters, p.Entities)
		if round >= r.workload.Warmup {
			elapsed = append(elapsed, took.Seconds())
		}
	}
	r.out.add("rows", float64(len(p.Entities)), "")
	r.out.add("clusters", float64(len(clusters)), "")
	r.out.add("complete", float64(count(complete)), "")
	r.out.add("p50", elapsed.Median(), "s")
	r.out.addShare("precision", found.precision)
	r.out.addShare("recall", found.recall)
	r.out.addShare("f1", found.f1())
	splink, ran, err := r.splink(ctx, p)
	if err != nil || !ran {
		return err
	}
	r.out.addShare("precision.splink", splink.precision)
	r.out.addShare("recall.splink", splink.recall)
	r.out.addShare("f1.splink", splink.f1())
	r.out.addRelative("ratio.splink", found.f1()/splink.f1(), true)
	return nil
}

// judgeAnomalies compares the findings of detect_anomalies with the planted defects.
func (r *runner) judgeAnomalies(ctx context.Context, p *planted) error {
	var result struct {
		Findings []struct {
			Row    int    `json:"row"`
			Column string `json:"column"`
		} `json:"findings"`
		Rows []citedRow `json:"rows"`
	}
	_, took, err := r.ask(ctx, p, "flights", "detect_anomalies", nil, &result)
	if err != nil {
		return err
	}
	ids := rowIDs(result.Rows)
	var blamed []place
	for _, finding := range result.Findings {
		blamed = append(blamed, place{ids[finding.Row], finding.Column})
	}
	found, missed, wrong := scoreDefects(p.Defects, blamed)
	r.out.add("planted", float64(len(p.Defects)), "")
	r.out.add("findings", float64(len(result.Findings)), "")
	r.out.add("elapsed", took.Seconds(), "s")
	r.out.addShare("recall", found.recall)
	r.out.addShare("precision", found.precision)
	for _, kind := range slices.Sorted(maps.Keys(missed)) {
		r.out.note("missed %d times: %s", missed[kind], kind)
	}
	for _, column := range slices.Sorted(maps.Keys(wrong)) {
		r.out.note("%d findings without a defect in %s", wrong[column], column)
	}
	return nil
}

// judgeChanges compares the counts of explain_changes with the differences of versions.
func (r *runner) judgeChanges(ctx context.Context, p *planted) error {
	equal := 0
	for _, d := range p.Differences {
		var result difference
		options := map[string]any{"version_from": d.From, "version_to": d.To}
		if _, _, err := r.ask(ctx, p, d.Table, "explain_changes", options, &result); err != nil {
			return err
		}
		if d.equal(result) {
			equal++
			continue
		}
		r.out.note("%s from version %d to %d: %s, not %s", d.Table, d.From, d.To, d.counts(), result.counts())
	}
	r.out.add("differences", float64(len(p.Differences)), "")
	r.out.addShare("equal", share(equal, len(p.Differences)))
	return nil
}

func (d difference) counts() string {
	var text []string
	for _, n := range []*int64{d.Inserted, d.Deleted, d.Updated, d.Unchanged, d.RowsBefore, d.RowsAfter} {
		if n == nil {
			text = append(text, "none")
			continue
		}
		text = append(text, fmt.Sprint(*n))
	}
	return strings.Join(text, "/")
}
