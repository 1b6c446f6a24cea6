package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// rule is a suggested rule, as data/planted/judge.py reads it.
type rule struct {
	Table     string   `json:"table"`
	Kind      string   `json:"kind"`
	Expr      string   `json:"expr,omitempty"`
	Columns   []string `json:"columns,omitempty"`
	Values    []string `json:"values,omitempty"`
	Min       string   `json:"min,omitempty"`
	Max       string   `json:"max,omitempty"`
	Inclusive *bool    `json:"inclusive,omitempty"`

	stated *int64 // violations, as the answer says
}

func (r rule) String() string {
	switch {
	case r.Expr != "":
		return r.Table + ": " + r.Expr
	case r.Kind == "list":
		return fmt.Sprintf("%s: %s in a list of %d values", r.Table, r.Columns[0], len(r.Values))
	case r.Kind == "range":
		return fmt.Sprintf("%s: %s from %q to %q", r.Table, r.Columns[0], r.Min, r.Max)
	}
	return fmt.Sprintf("%s: %s %v", r.Table, r.Kind, r.Columns)
}

// ruling is what plain DuckDB says about a rule.
type ruling struct {
	Violations int64  `json:"violations"`
	Error      string `json:"error"`
}

// listedValue is a value of a list: a text, or an object with a member value.
type listedValue string

// UnmarshalJSON decodes both forms.
func (v *listedValue) UnmarshalJSON(text []byte) error {
	var object struct {
		Value string `json:"value"`
	}
	if json.Unmarshal(text, &object) == nil {
		*v = listedValue(object.Value)
		return nil
	}
	return json.Unmarshal(text, (*string)(v))
}

// proposedRules returns the rules that a proposal's request declares. It returns none for other
// requests.
func proposedRules(table string, p proposal) ([]rule, error) {
	if p.Apply == nil {
		return nil, nil
	}
	var body struct {
		Constraints []struct {
			Expr string `json:"expr"`
		} `json:"constraints"`
		Columns      []string      `json:"columns"`
		IsNullable   *bool         `json:"isNullable"`
		IsUnique     *bool         `json:"isUnique"`
		IsPrimaryKey *bool         `json:"isPrimaryKey"`
		Values       []listedValue `json:"values"`
		Min          string        `json:"min"`
		Max          string        `json:"max"`
		Inclusive    *bool         `json:"inclusive"`
	}
	path, _, _ := strings.Cut(p.Apply.Path, "?")
	column := ""
	if _, rest, ok := strings.Cut(path, "/columns/"); ok {
		name, _, _ := strings.Cut(rest, "/")
		var err error
		if column, err = url.PathUnescape(name); err != nil {
			return nil, fmt.Errorf("path of proposal %q: %w", p.Title, err)
		}
	}
	known := []string{"/constraints", "/primary-key", "/settings", "/domain/fixed", "/domain/range"}
	at := slices.IndexFunc(known, func(end string) bool { return strings.HasSuffix(path, end) })
	if at < 0 {
		return nil, nil
	}
	if err := json.Unmarshal(p.Apply.Body, &body); err != nil {
		return nil, fmt.Errorf("body of proposal %q: %w", p.Title, err)
	}
	var rules []rule
	add := func(r rule) {
		r.Table, r.stated = table, p.Effect.Violations
		rules = append(rules, r)
	}
	switch known[at] {
	case "/constraints":
		for _, c := range body.Constraints {
			add(rule{Kind: "check", Expr: c.Expr})
		}
	case "/primary-key":
		add(rule{Kind: "primary_key", Columns: body.Columns})
	case "/settings":
		if body.IsNullable != nil && !*body.IsNullable {
			add(rule{Kind: "not_null", Columns: []string{column}})
		}
		if body.IsUnique != nil && *body.IsUnique {
			add(rule{Kind: "unique", Columns: []string{column}})
		}
		if body.IsPrimaryKey != nil && *body.IsPrimaryKey {
			add(rule{Kind: "primary_key", Columns: []string{column}})
		}
	case "/domain/fixed":
		values := make([]string, len(body.Values))
		for i, value := range body.Values {
			values[i] = string(value)
		}
		add(rule{Kind: "list", Columns: []string{column}, Values: values})
	case "/domain/range":
		add(rule{Kind: "range", Columns: []string{column}, Min: body.Min, Max: body.Max, Inclusive: body.Inclusive})
	}
	return rules, nil
}

// suggested requests rules for a table and returns them: those that proposals declare, and the
// checks of the result.
func (r *runner) suggested(ctx context.Context, p *planted, table, action string) ([]rule, error) {
	var result struct {
		Checks []struct {
			Expr       string `json:"expr"`
			Violations *int64 `json:"violations"`
		} `json:"checks"`
	}
	answer, _, err := r.ask(ctx, p, table, action, nil, &result)
	if err != nil {
		return nil, err
	}
	var rules []rule
	for _, proposed := range answer.Proposals {
		more, err := proposedRules(table, proposed)
		if err != nil {
			return nil, err
		}
		rules = append(rules, more...)
	}
	for _, c := range result.Checks {
		rules = append(rules, rule{Table: table, Kind: "check", Expr: c.Expr, stated: c.Violations})
	}
	return rules, nil
}

// rulings has plain DuckDB count the violations of rules in the tables of a folder.
func (r *runner) rulings(ctx context.Context, folder string, rules []rule) ([]ruling, error) {
	text, err := plantedScript("judge")
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(rules)
	if err != nil {
		return nil, fmt.Errorf("encode rules: %w", err)
	}
	file := filepath.Join(r.server.dir, "rules.json")
	if err := os.WriteFile(file, encoded, 0o600); err != nil {
		return nil, fmt.Errorf("write rules: %w", err)
	}
	var all []ruling
	if err := r.runPython(ctx, &all, text, folder, file); err != nil {
		return nil, fmt.Errorf("judge rules: %w", err)
	}
	if len(all) != len(rules) {
		return nil, fmt.Errorf("%d rulings of %d rules", len(all), len(rules))
	}
	return all, nil
}

// judgeChecks executes every suggested CHECK on the same rows and compares the violations with
// those that the answer states.
func (r *runner) judgeChecks(ctx context.Context, p *planted) error {
	var checks []rule
	for _, table := range p.Tables {
		rules, err := r.suggested(ctx, p, table, "suggest_constraints")
		if err != nil {
			return err
		}
		for _, suggestion := range rules {
			if suggestion.Kind == "check" {
				checks = append(checks, suggestion)
			}
		}
	}
	rulings, err := r.rulings(ctx, p.folder, checks)
	if err != nil {
		return err
	}
	right := 0
	different := map[string]bool{}
	for i, check := range checks {
		different[check.String()] = true
		switch {
		case rulings[i].Error != "":
			r.out.note("%s: %s", check, rulings[i].Error)
		case check.stated == nil:
			r.out.note("%s: no number of violations, but there are %d", check, rulings[i].Violations)
		case *check.stated != rulings[i].Violations:
			r.out.note("%s: %d violations, not %d", check, rulings[i].Violations, *check.stated)
		default:
			right++
		}
	}
	r.out.add("checks", float64(len(different)), "")
	r.out.addShare("right", share(right, len(checks)))
	return nil
}

// cleanActions are the analyses of clean tables whose every finding is false.
var cleanActions = []string{"fix_nulls", "standardize_values", "find_duplicates", "merge_records", "detect_anomalies"}

// judgeClean counts false proposals on tables without defects. A suggested rule is false if rows
// of the same origin violate it that the server does not have.
func (r *runner) judgeClean(ctx context.Context, p *planted) error {
	falseOnes, details := map[string]int{}, map[string][]string{} // by table
	for i, table := range p.Tables {
		r.cfg.Progress("%s: table %d of %d", r.workload.Name, i+1, len(p.Tables))
		merged := 0
		for _, action := range cleanActions {
			n, err := r.findings(ctx, p, table, action)
			if err != nil {
				return err
			}
			if action == "merge_records" { // it proposes merges of the duplicates that were counted
				n -= min(n, merged)
			}
			if action == "find_duplicates" {
				merged = n
			}
			if n > 0 {
				falseOnes[table] += n
				details[table] = append(details[table], fmt.Sprintf("%s: %d", action, n))
			}
		}
		var rules []rule
		for _, action := range []string{"suggest_constraints", "suggest_domain"} {
			more, err := r.suggested(ctx, p, table, action)
			if err != nil {
				return err
			}
			rules = append(rules, more...)
		}
		rules = differentRules(rules)
		rulings, err := r.rulings(ctx, p.whole, rules)
		if err != nil {
			return err
		}
		for i, said := range rulings {
			if said.Violations > 0 || said.Error != "" {
				falseOnes[table]++
				details[table] = append(details[table], fmt.Sprintf("%s (%d violations) %s", rules[i], said.Violations, said.Error))
			}
		}
	}
	total, worst := 0, 0
	for _, table := range p.Tables {
		total, worst = total+falseOnes[table], max(worst, falseOnes[table])
		if falseOnes[table] > 0 {
			r.out.note("%s, %d false: %s", table, falseOnes[table], strings.Join(details[table], "; "))
		}
	}
	r.out.add("tables", float64(len(p.Tables)), "")
	r.out.add("false_per_table", share(total, len(p.Tables)), "")
	r.out.add("false_worst", float64(worst), "")
	return nil
}

// differentRules drops repeated rules.
func differentRules(rules []rule) (different []rule) {
	seen := map[string]bool{}
	for _, r := range rules {
		if key := fmt.Sprint(r.Kind, r.Columns, r.Expr, r.Min, r.Max, r.Values); !seen[key] {
			seen[key] = true
			different = append(different, r)
		}
	}
	return different
}

// findings returns the number of findings of an analysis, or of its proposals if they are more.
func (r *runner) findings(ctx context.Context, p *planted, table, action string) (int, error) {
	var raw json.RawMessage
	answer, _, err := r.ask(ctx, p, table, action, nil, &raw)
	if err != nil {
		return 0, err
	}
	n := 0
	decode := func(into any) error {
		if len(raw) == 0 {
			return nil
		}
		return json.Unmarshal(raw, into)
	}
	switch action {
	case "fix_nulls":
		var result placeholderColumns
		if err := decode(&result); err != nil {
			return 0, err
		}
		for _, column := range result.Columns {
			n += len(column.Placeholders)
		}
	case "standardize_values":
		var result valueClusters
		if err := decode(&result); err != nil {
			return 0, err
		}
		n = len(result.values(""))
	default:
		var result struct {
			Clusters []json.RawMessage `json:"clusters"`
			Findings []json.RawMessage `json:"findings"`
		}
		if err := decode(&result); err != nil {
			return 0, err
		}
		n = len(result.Clusters) + len(result.Findings)
	}
	return max(n, len(answer.Proposals)), nil
}
