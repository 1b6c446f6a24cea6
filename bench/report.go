package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Report is one run of workloads.
type Report struct {
	Version  string    `json:"version"`
	Taken    time.Time `json:"taken"`
	Machine  Machine   `json:"machine"`
	Scale    string    `json:"scale"`
	Outcomes []Outcome `json:"outcomes"`
}

// Files in a report's folder.
const (
	reportJSON = "report.json"
	reportText = "report.md"
)

// ReadReport reads a report from its folder, or from a JSON file. The error is
// fs.ErrNotExist if there is none.
func ReadReport(name string) (Report, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, reportJSON)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return Report{}, fmt.Errorf("read report: %w", err)
	}
	var report Report
	if err := json.Unmarshal(text, &report); err != nil {
		return Report{}, fmt.Errorf("decode report %s: %w", name, err)
	}
	return report, nil
}

// Write writes the report to a folder, as JSON for comparisons and as Markdown. The
// text includes the changes from an earlier report, if any.
func (r Report) Write(folder string, changes []Change) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make report folder: %w", err)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, reportJSON), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, reportText), []byte(r.Markdown(changes)), 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// Previous reads the report in a folder. It reports false if there is none.
func Previous(folder string) (Report, bool, error) {
	report, err := ReadReport(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return Report{}, false, nil
	}
	return report, err == nil, err
}

// Markdown renders the report.
func (r Report) Markdown(changes []Change) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Measurements\n\n")
	fmt.Fprintf(&b, "Version %s, %s, TPC-H scale factor %s. Medians; subjects take turns statement by statement.\n",
		r.Version, r.Taken.UTC().Format("2006-01-02 15:04 UTC"), r.Scale)
	fmt.Fprintf(&b, "Ratios are comparable across machines, absolute values are not.\n\n")
	fmt.Fprintf(&b, "Machine: %s, %d cores, %s, %s %s, %s.\n\n",
		r.Machine.CPU, r.Machine.Cores, r.Machine.Memory, r.Machine.OS, r.Machine.Kernel, r.Machine.Go)

	b.WriteString("| workload | metric | measured | target | |\n|---|---|---:|---:|---|\n")
	for _, o := range r.Outcomes {
		for _, c := range o.Checks {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", o.Workload, c.Metric, o.measured(c), c.bound(), verdict(o, c))
		}
	}
	for _, o := range r.Outcomes {
		o.markdown(&b)
	}
	if changes != nil {
		markdownChanges(&b, changes)
	}
	return b.String()
}

func (o *Outcome) measured(c Check) string {
	m, ok := o.metric(c.Metric)
	if !ok {
		return "none"
	}
	return strings.TrimSpace(number(m.Value) + " " + m.Unit)
}

func (c Check) bound() string {
	if c.AtMost != nil {
		return "≤ " + number(*c.AtMost)
	}
	return "≥ " + number(*c.AtLeast)
}

func verdict(o Outcome, c Check) string {
	switch {
	case o.Error != "":
		return "not measured"
	case c.OK:
		return "met"
	default:
		return "**missed**"
	}
}

func (o *Outcome) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n%s.\n\n", o.Workload, o.Title)
	if o.Error != "" {
		fmt.Fprintf(b, "Not measured: %s\n\n", strings.ReplaceAll(o.Error, "\n", " "))
	}
	if len(o.Metrics) > 0 {
		b.WriteString("| metric | value |\n|---|---:|\n")
		for _, m := range o.Metrics {
			fmt.Fprintf(b, "| %s | %s |\n", m.Name, strings.TrimSpace(number(m.Value)+" "+m.Unit))
		}
	}
	for _, note := range o.Notes {
		fmt.Fprintf(b, "\n- %s", note)
	}
	if len(o.Notes) > 0 {
		b.WriteString("\n")
	}
	if len(o.Lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| statement | rows | %s |\n|---|---:|%s\n",
		strings.Join(suffixed(o.Subjects, " ms"), " | "), strings.Repeat("---:|", len(o.Subjects)))
	for _, line := range o.Lines {
		fmt.Fprintf(b, "| %s | %d |", line.Statement, line.Rows)
		for _, ms := range line.Millis {
			fmt.Fprintf(b, " %s |", number(ms))
		}
		b.WriteString("\n")
	}
}

func suffixed(words []string, suffix string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = word + suffix
	}
	return out
}

// number formats a value with three significant digits and without an exponent.
func number(v float64) string {
	switch abs := max(v, -v); {
	case abs >= 100 || v == float64(int64(v)):
		return fmt.Sprintf("%.0f", v)
	case abs >= 10:
		return fmt.Sprintf("%.1f", v)
	case abs >= 1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}
