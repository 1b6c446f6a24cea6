package bench

import (
	"fmt"
	"time"
)

// Outcome is what a workload measured. It is what the JSON report holds.
type Outcome struct {
	Workload string `json:"workload"`
	Title    string `json:"title"`
	// Metrics are the figures, in the order in which they are reported.
	Metrics []Metric `json:"metrics"`
	// Lines are the medians of each statement, for workloads that compare.
	Subjects []string `json:"subjects,omitempty"`
	Lines    []Line   `json:"lines,omitempty"`
	Checks   []Check  `json:"checks"`
	Notes    []string `json:"notes,omitempty"`
	// Error is set when the workload could not be measured to its end.
	Error string `json:"error,omitempty"`
}

// Metric is one figure of a workload.
type Metric struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Relative figures compare two things of one run and carry over to another
	// machine; absolute ones do not.
	Relative bool `json:"relative,omitempty"`
	// HigherIsBetter turns the comparison around.
	HigherIsBetter bool `json:"higher_is_better,omitempty"`
}

// Line is one statement's medians, in the order of Outcome.Subjects.
type Line struct {
	Statement string    `json:"statement"`
	Millis    []float64 `json:"millis"`
	Rows      int64     `json:"rows"`
}

// Check is one target with what was measured.
type Check struct {
	Target
	Value float64 `json:"value"`
	OK    bool    `json:"ok"`
}

func (o *Outcome) add(name string, value float64, unit string) {
	o.Metrics = append(o.Metrics, Metric{Name: name, Value: value, Unit: unit})
}

func (o *Outcome) addRelative(name string, value float64, higherIsBetter bool) {
	o.Metrics = append(o.Metrics, Metric{Name: name, Value: value, Unit: "x", Relative: true, HigherIsBetter: higherIsBetter})
}

func (o *Outcome) note(format string, args ...any) {
	o.Notes = append(o.Notes, fmt.Sprintf(format, args...))
}

// metric finds a figure by name.
func (o *Outcome) metric(name string) (Metric, bool) {
	for _, m := range o.Metrics {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}

// judge compares the figures with the targets. A target whose figure is
// missing counts as missed.
func (o *Outcome) judge(targets []Target) {
	for _, t := range targets {
		m, found := o.metric(t.Metric)
		o.Checks = append(o.Checks, Check{Target: t, Value: m.Value, OK: found && t.Met(m.Value)})
	}
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func megabytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
