package bench

import (
	"fmt"
	"time"
)

// Outcome holds what a workload measured, as the JSON report does.
type Outcome struct {
	Workload string `json:"workload"`
	Title    string `json:"title"`
	// Metrics are the measured values, in the order of the report.
	Metrics []Metric `json:"metrics"`
	// Lines are the medians of each statement, for workloads that compare subjects.
	Subjects []string `json:"subjects,omitempty"`
	Lines    []Line   `json:"lines,omitempty"`
	Checks   []Check  `json:"checks"`
	Notes    []string `json:"notes,omitempty"`
	// Error is set if the measurement could not be completed.
	Error string `json:"error,omitempty"`
}

// Metric is one measured value of a workload.
type Metric struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Relative metrics compare two measurements of the same run and are comparable
	// across machines.
	Relative bool `json:"relative,omitempty"`
	// HigherIsBetter says that a smaller value is worse.
	HigherIsBetter bool `json:"higher_is_better,omitempty"`
}

// Line holds the medians of one statement, in the order of Outcome.Subjects.
type Line struct {
	Statement string    `json:"statement"`
	Millis    []float64 `json:"millis"`
	Rows      int64     `json:"rows"`
}

// Check is a target with the measured value.
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

// addShare adds a quality between 0 and 1, which is comparable across machines.
func (o *Outcome) addShare(name string, value float64) {
	o.Metrics = append(o.Metrics, Metric{Name: name, Value: value, Relative: true, HigherIsBetter: true})
}

func (o *Outcome) note(format string, args ...any) {
	o.Notes = append(o.Notes, fmt.Sprintf(format, args...))
}

// metric returns a metric by name.
func (o *Outcome) metric(name string) (Metric, bool) {
	for _, m := range o.Metrics {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}

// compareTargets compares the metrics with the targets. A target without a metric is missed.
func (o *Outcome) compareTargets(targets []Target) {
	for _, t := range targets {
		m, found := o.metric(t.Metric)
		o.Checks = append(o.Checks, Check{Target: t, Value: m.Value, OK: found && t.Met(m.Value)})
	}
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func megabytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
