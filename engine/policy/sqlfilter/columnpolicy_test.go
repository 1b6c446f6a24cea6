package sqlfilter_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// columnRule is a policy of kind cls or mask, as a definition.
type columnRule struct {
	kind   policy.Kind
	column string
	def    policy.Definition
}

// order is how the masks are ranked, by the words of the semantics.
var order = []string{"", policy.MaskYear, policy.MaskLast4, policy.MaskHash, policy.MaskNull, "hidden"}

// shows is the whole semantics of column policies: what a user sees of a column.
func (w world) shows(rules []columnRule, c engine.Column) string {
	strictest := 0
	for _, r := range rules {
		if !strings.EqualFold(r.column, c.Name) {
			continue
		}
		v := w.subject(bound{r.def, r.column}, nil)
		if r.def.Effect == policy.Permit && v == yes || r.def.Effect == policy.Forbid && v == no {
			continue
		}
		shown := "hidden"
		if r.kind == policy.KindMask {
			shown = policy.MaskNull
			if m := r.def.Mask; m != nil && fitsType(*m, c.Type.String()) {
				shown = *m
			}
		}
		strictest = max(strictest, slices.Index(order, shown))
	}
	return order[strictest]
}

// fitsType lists the masks of each type of the test's columns.
func fitsType(mask, typ string) bool {
	switch mask {
	case policy.MaskLast4:
		return typ == "VARCHAR"
	case policy.MaskYear:
		return typ == "DATE" || strings.HasPrefix(typ, "TIMESTAMP")
	}
	return true
}

// anyColumnRule draws a policy that is valid for all tables.
func anyColumnRule(t *rapid.T) columnRule {
	for {
		r := columnRule{
			kind:   rapid.SampledFrom([]policy.Kind{policy.KindCLS, policy.KindMask, policy.KindMask}).Draw(t, "kind"),
			column: rapid.SampledFrom([]string{"Region", "REGION", "level", "born", "seen", `in "odd" näme`, "nope"}).Draw(t, "column"),
		}
		r.def = definition(t).def
		r.def.Condition = nil
		if r.kind == policy.KindMask {
			r.def.Mask = rapid.SampledFrom([]*string{nil, ptr("null"), ptr("hash"), ptr("last4"), ptr("year")}).Draw(t, "mask")
		}
		if r.def.Validate(r.kind, r.column, nil) == nil {
			return r
		}
		r.def.Subject = policy.Subject{Role: ptr("analyst")}
		if r.def.Validate(r.kind, r.column, nil) == nil {
			return r
		}
	}
}

func columnScenario(t *rapid.T) ([]columnRule, world) {
	var rules []columnRule
	for range rapid.IntRange(1, 4).Draw(t, "policies") {
		rules = append(rules, anyColumnRule(t))
	}
	role := rapid.SampledFrom([]string{"analyst", "admin", `ro"le`, ""}).Draw(t, "role")
	return rules, world{columns: columns, role: role, attrs: attributes(t)}
}

func compileRules(rules []columnRule, w world) (sqlfilter.Filter, []string, error) {
	request := sqlfilter.Request{Columns: w.columns, Alias: "t", Principal: sqlfilter.Principal{UserID: "u1", Role: w.role,
		Attributes: w.attrs}}
	var texts []string
	for i, r := range rules {
		text, err := policy.Render(r.def, r.column, r.kind, nil)
		if err != nil {
			return sqlfilter.Filter{}, nil, err
		}
		texts = append(texts, text)
		request.Policies = append(request.Policies, sqlfilter.Policy{ID: fmt.Sprint(i), Kind: r.kind, Text: text, ColumnName: r.column})
	}
	f, err := sqlfilter.Compile(request)
	return f, texts, err
}

// Compiled column policies agree with the oracle for every column, and so does a definition that
// was derived from the text.
func TestColumnPoliciesMatchOracle(t *testing.T) {
	seen := map[string]int{}
	rare := func() bool { return slices.ContainsFunc(order, func(shown string) bool { return seen[shown] <= 20 }) }
	property := func(rt *rapid.T) {
		for range 10 {
			rules, w := columnScenario(rt)
			f, texts, err := compileRules(rules, w)
			require.NoError(rt, err, "%s", texts)
			require.False(rt, f.Restricted, "no row is hidden")
			require.Empty(rt, f.Predicate)
			for _, c := range columns {
				want, got := w.shows(rules, c), f.Masks[c.Name]
				if slices.Contains(f.HiddenColumns, c.Name) {
					require.Empty(rt, got)
					got = "hidden"
				}
				require.Equal(rt, want, got, "%s\n%s\nattributes %v role %q", c.Name, strings.Join(texts, "\n"), w.attrs, w.role)
				seen[want]++
			}
			for i, r := range rules {
				parsed, err := policy.Parse(texts[i])
				require.NoError(rt, err)
				back, ok := sqlfilter.Derive(parsed, r.kind, nil)
				require.True(rt, ok, texts[i])
				rules[i].def = back
			}
			after, _, err := compileRules(rules, w)
			require.NoError(rt, err)
			require.Empty(rt, cmp.Diff(f, after))
		}
	}
	for round := 0; round == 0 || rare() && round < 20; round++ { // chance decides what is drawn
		rapid.Check(t, property)
	}
	for _, shown := range order {
		require.Greater(t, seen[shown], 20, "columns that show %q", shown)
	}
}

// The reference implementation of Cedar shows columns to the same users: for each policy alone, and
// for a forbid together with a permit for all users.
func TestReferenceCedarSeesColumnsAlike(t *testing.T) {
	interpreter := oracletest.Python(t)
	type ruleCase struct {
		Policies string `json:"policies"`
		Entities []any  `json:"entities"`
		Column   string `json:"column"`
		want     bool
	}
	var cases []ruleCase
	sample := rapid.Custom(func(rt *rapid.T) ruleCase {
		defs, w := cedarCase(rt)
		r := anyColumnRule(rt)
		for r.column == "REGION" || r.column == "nope" {
			r = anyColumnRule(rt)
		}
		// Attributes with the types that Cedar needs.
		r.def.Subject = defs[0].def.Subject
		if r.def.Validate(r.kind, r.column, nil) != nil {
			r.def.Subject = policy.Subject{Role: ptr("analyst")}
		}
		text, err := policy.Render(r.def, r.column, r.kind, nil)
		require.NoError(rt, err)
		c, _ := findColumn(r.column)
		out := ruleCase{Policies: text, Column: types.NewEntityUID("Column", types.String(r.column)).String(),
			want: w.shows([]columnRule{r}, c) == ""}
		if r.def.Effect == policy.Forbid {
			out.Policies += "\npermit (principal, action, resource);"
		}
		out.Entities = []any{
			map[string]any{"uid": uid("User", "u1"), "parents": []any{uid("Role", w.role)}, "attrs": cedarUser(w.attrs)},
			map[string]any{"uid": uid("Role", w.role), "parents": []any{}, "attrs": types.NewRecord(nil)},
		}
		return out
	})
	for seed := range 300 {
		cases = append(cases, sample.Example(seed))
	}
	input, err := json.Marshal(cases)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), interpreter, "-c", `
import json, sys, cedarpy
out = []
for case in json.load(sys.stdin):
    request = {"principal": 'User::"u1"', "action": 'Action::"unmask"', "resource": case["column"], "context": {}}
    r = cedarpy.is_authorized(request, case["policies"], case["entities"])
    out.append([r.decision.value, len(r.diagnostics.errors)])
json.dump(out, sys.stdout)
`)
	cmd.Stdin = strings.NewReader(string(input))
	output, err := cmd.Output()
	require.NoError(t, err)
	var got [][2]any
	require.NoError(t, json.Unmarshal(output, &got))
	require.Len(t, got, len(cases))
	allowed := 0
	for i, c := range cases {
		require.EqualValues(t, 0, got[i][1], c.Policies)
		require.Equal(t, map[bool]any{true: "Allow", false: "Deny"}[c.want], got[i][0], "%s\n%v", c.Policies, c.Entities)
		if c.want {
			allowed++
		}
	}
	require.Greater(t, allowed, 30)
	require.Less(t, allowed, len(cases)-30)
}

func findColumn(name string) (engine.Column, bool) {
	i := slices.IndexFunc(columns, func(c engine.Column) bool { return c.Name == name })
	if i < 0 {
		return engine.Column{}, false
	}
	return columns[i], true
}

// A name that differs in case only is the same name to statements.
func TestColumnPoliciesByCase(t *testing.T) {
	two := []engine.Column{{Name: "Pay", Type: sqltype.BigInt}, {Name: "pay", Type: sqltype.Varchar}, {Name: "payment", Type: sqltype.BigInt},
		{Name: "É", Type: sqltype.BigInt}, {Name: "é", Type: sqltype.BigInt}}
	const text = `forbid (principal, action == Action::"unmask", resource == Column::"PAY");`
	f, err := sqlfilter.Compile(sqlfilter.Request{Columns: two, Policies: []sqlfilter.Policy{
		{ID: "1", Kind: policy.KindCLS, ColumnName: "PAY", Text: text},
		{ID: "2", Kind: policy.KindMask, ColumnName: "É", Text: strings.ReplaceAll(text, "PAY", "É")},
	}})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(sqlfilter.Filter{HiddenColumns: []string{"Pay", "pay"}, Masks: map[string]string{"É": "null"}}, f))
}

// Row policies read columns that are hidden.
func TestRowsAndColumnsTogether(t *testing.T) {
	f, err := sqlfilter.Compile(sqlfilter.Request{Columns: columns, Alias: "t", Policies: []sqlfilter.Policy{
		{ID: "1", Kind: policy.KindCLS, ColumnName: "level", Text: `forbid (principal, action, resource == Column::"level");`},
		{ID: "2", Kind: policy.KindRLS, Text: `permit (principal, action, resource) when { resource.level == 1 };`},
		{ID: "3", Kind: policy.KindMask, ColumnName: "Region", Text: `@mask("last4") forbid (principal, action, resource == Column::"Region");`},
	}})
	require.NoError(t, err)
	require.True(t, f.Restricted)
	require.Equal(t, `"t"."level" = CAST(1 AS BIGINT)`, f.Predicate)
	require.Equal(t, []string{"level"}, f.HiddenColumns)
	require.Equal(t, map[string]string{"Region": "last4"}, f.Masks)
}

func TestStricterKeepsWhatEitherHides(t *testing.T) {
	f := sqlfilter.Filter{Restricted: true, Predicate: "x", HiddenColumns: []string{"a"},
		Masks: map[string]string{"b": "year", "c": "null", "d": "hash"}}
	got := f.Stricter([]string{"b"}, map[string]string{"a": "null", "c": "year", "d": "null", "e": "last4"})
	require.Empty(t, cmp.Diff(sqlfilter.Filter{
		Restricted: true, Predicate: "x", HiddenColumns: []string{"a", "b"}, Masks: map[string]string{"c": "null", "d": "null", "e": "last4"},
	}, got))
}
