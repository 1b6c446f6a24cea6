package bench

import (
	"fmt"
	"strings"
)

// Tolerance is the relative change for the worse above which a metric is flagged.
const Tolerance = 0.15

// Change is one metric that both of two reports have.
type Change struct {
	Workload, Metric string
	Unit             string
	Before, After    float64
	// Worse is the relative change for the worse: 0.2 is 20 % slower, a negative
	// number is an improvement.
	Worse float64
	// Flagged reports whether the change is above the tolerance.
	Flagged bool
}

// Compare returns the changes between two reports. Relative metrics are always
// compared, absolute ones only if both reports are from the same kind of machine.
func Compare(before, after Report) []Change {
	same := before.Machine.CPU == after.Machine.CPU && before.Machine.Cores == after.Machine.Cores &&
		before.Scale == after.Scale
	old := map[string]Metric{}
	for _, o := range before.Outcomes {
		for _, m := range o.Metrics {
			old[o.Workload+"\x00"+m.Name] = m
		}
	}
	changes := []Change{}
	for _, o := range after.Outcomes {
		for _, m := range o.Metrics {
			earlier, ok := old[o.Workload+"\x00"+m.Name]
			if !ok || m.Unit == "" || !m.Relative && !same {
				continue
			}
			worse, comparable := worsening(earlier.Value, m.Value, m.HigherIsBetter)
			if !comparable {
				continue
			}
			changes = append(changes, Change{
				Workload: o.Workload, Metric: m.Name, Unit: m.Unit,
				Before: earlier.Value, After: m.Value, Worse: worse,
				Flagged: worse > Tolerance && aboutServer(m.Name),
			})
		}
	}
	return changes
}

// worsening returns the relative change for the worse. It reports false for metrics
// at or below zero, which are differences of two times.
func worsening(before, after float64, higherIsBetter bool) (float64, bool) {
	if before <= 0 || after <= 0 {
		return 0, false
	}
	if higherIsBetter {
		return before/after - 1, true
	}
	return after/before - 1, true
}

// aboutServer reports whether a metric is about the server: a slower peer is no
// regression.
func aboutServer(metric string) bool {
	for _, peer := range []string{peerDuckDB, peerRoapi, peerVisible} {
		if metric == "total."+peer || metric == "cold."+peer {
			return false
		}
	}
	return !strings.HasPrefix(metric, "p50."+peerDuckDB) && !strings.HasPrefix(metric, "p95."+peerDuckDB)
}

func markdownChanges(b *strings.Builder, changes []Change) {
	b.WriteString("\n## Compared with the previous report\n\n")
	if len(changes) == 0 {
		b.WriteString("Nothing that compares.\n")
		return
	}
	b.WriteString("| workload | metric | before | now | change for the worse | |\n|---|---|---:|---:|---:|---|\n")
	for _, c := range changes {
		flag := ""
		if c.Flagged {
			flag = "**slower**"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %+.0f %% | %s |\n", c.Workload, c.Metric,
			strings.TrimSpace(number(c.Before)+" "+c.Unit), strings.TrimSpace(number(c.After)+" "+c.Unit), 100*c.Worse, flag)
	}
}
