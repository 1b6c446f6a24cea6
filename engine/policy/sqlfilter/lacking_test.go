package sqlfilter_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// literals are constants of the columns' types, as Cedar writes them.
var literals = map[string][]string{
	"Region":           {`"EU"`, `"eu"`, `"a_b"`, `"100%"`, `""`, `"back\\slash"`, `"*"`, `"Ünïcode"`},
	`in "odd" näme`:    {`"EU"`, `"\"quoted\""`, `"日本"`, `"a*b"`},
	"level":            {"0", "1", "-1", "5", "300", "-9223372036854775808"},
	"tiny":             {"0", "1", "127", "-128"},
	"rate":             {`decimal("0.5")`, `decimal("-0.5")`, `decimal("99.9")`},
	"amount":           {`decimal("0.0")`, `decimal("1.5")`, `decimal("-0.5")`, `decimal("99999999.99")`},
	"active":           {"true", "false"},
	"born":             {`datetime("2024-02-29")`, `datetime("1969-12-31")`},
	"at":               {`datetime("2024-02-29T10:30:00Z")`, `datetime("1969-12-31")`},
	"seen":             {`datetime("2024-02-29T10:30:00Z")`, `datetime("2024-02-29T02:00:00+0200")`},
	"never was":        {"1", `"EU"`, "true", `decimal("1.5")`},
	"principal.level":  {"1", "5", "100"},
	"principal.region": {`"EU"`, `"US"`},
}

// wildcards are patterns of like, many wildcards and signs of SQL among them.
var wildcards = []string{
	"*", "E*", "*U", "*E*", "a_b", "a*b", "*_*", "1*0%", "100%", "*%", "*\\\\*", `\*`, "*\\**", "*a*b*", "*E*U*", "*n*c*d*", "*_*_*", "*%*%*",
	"", "**", "*日*本*", "Ü*n*ï*c*o*d*e", "*'*", "l*\\n*", strings.Repeat("*a", 30), strings.Repeat("*_", 30) + "*", "*b*\\\\*s*",
}

// wide are literals that have the type of the column, but are not values of it.
var wide = map[string][]string{
	"tiny": {"128", "-129", "300", "100000", "9223372036854775807", "-9223372036854775808"},
	"amount": {`decimal("1.501")`, `decimal("-0.5001")`, `decimal("99999999.9999")`, `decimal("922337203685477.5807")`,
		`decimal("-922337203685477.5808")`},
	"rate": {`decimal("0.49")`, `decimal("-0.51")`, `decimal("99.91")`, `decimal("-99.91")`, `decimal("100.0")`},
	"born": {`datetime("2024-02-29T10:30:00Z")`, `datetime("1969-12-31T23:59:59.999Z")`, `datetime("2024-02-28T23:00:00-0100")`},
}

func init() {
	for column, list := range wide {
		literals[column] = append(literals[column], list...)
	}
}

// anything are literals of every type.
var anything = []string{`"5"`, `"EU"`, `"true"`, `"2024-02-29"`, "5", "-1", "true", `decimal("5.0")`, `datetime("2024-02-29")`}

// kindOf returns the type of a literal as Cedar names it.
func kindOf(literal string) string {
	switch {
	case strings.HasPrefix(literal, `"`):
		return "String"
	case literal == "true" || literal == "false":
		return "Bool"
	case strings.Contains(literal, "("):
		return literal[:strings.Index(literal, "(")]
	}
	return "Long"
}

// drawForeign writes a test whose operands have different types.
func drawForeign(t *rapid.T) expression {
	column := rapid.SampledFrom([]string{
		"Region", "level", "tiny", "amount", "rate", "active", "born", "at", "seen", "score",
	}).Draw(t, "column")
	own, access := "", "resource."+column
	if list := literals[column]; len(list) > 0 {
		own = kindOf(list[0])
	}
	var others []string
	for _, literal := range anything {
		if kindOf(literal) != own {
			others = append(others, literal)
		}
	}
	other := rapid.SampledFrom(others).Draw(t, "literal")
	forms := []string{access + " == " + other, access + " != " + other, other + " == " + access, access + " < " + other,
		other + " >= " + access, "[" + other + "].contains(" + access + ")", access + ".lessThan(" + other + ")"}
	switch own {
	case "decimal":
		forms = append(forms, access+` < decimal("1.5")`, access+" like \"*\"", "["+`decimal("1.5"), `+other+"].contains("+access+")", access)
	case "Long", "datetime":
		forms = append(forms, access+".lessThan("+literals[column][0]+")", access+" like \"*\"", access)
	case "String":
		forms = append(forms, access+` < "x"`, access)
	case "Bool":
		forms = append(forms, access+" > false", access+" like \"*\"")
	}
	return expression{atom: rapid.SampledFrom(forms).Draw(t, "form"), foreign: column}
}

// judged returns e with an error of Cedar instead of the tests whose operands have different types.
func (e expression) judged(columns []engine.Column) expression {
	if slices.ContainsFunc(columns, func(c engine.Column) bool { return c.Name == e.foreign }) {
		return expression{atom: "1 < true"}
	}
	e.kids = slices.Clone(e.kids)
	for i, k := range e.kids {
		e.kids[i] = k.judged(columns)
	}
	return e
}

// drawAtom writes a test by hand, about columns and attributes of fitting types.
func drawAtom(t *rapid.T) string {
	column := rapid.SampledFrom(sorted(literals)).Draw(t, "operand")
	access := "resource[" + string(types.String(column).MarshalCedar()) + "]"
	has := "resource has " + string(types.String(column).MarshalCedar())
	if attribute, ok := strings.CutPrefix(column, "principal."); ok {
		access, has = "principal."+attribute, "principal has "+attribute
	}
	literal := rapid.SampledFrom(literals[column]).Draw(t, "literal")
	switch kind := rapid.IntRange(0, 7).Draw(t, "test"); {
	case kind == 0:
		return has
	case kind == 1 && (column == "active" || column == "never was"):
		return access
	case kind < 3:
		list := make([]string, rapid.IntRange(0, 3).Draw(t, "n"))
		for i := range list {
			list[i] = rapid.SampledFrom(literals[column]).Draw(t, "item")
		}
		return "[" + strings.Join(list, ", ") + "].contains(" + access + ")"
	case kind == 3 && (column == "Region" || column == "never was" || column == "principal.region"):
		return access + ` like "` + rapid.SampledFrom(wildcards).Draw(t, "pattern") + `"`
	case kind == 4 && column == "Region":
		return rapid.SampledFrom([]string{"principal.region == " + access, access + " != principal.region", "principal.regions.contains(" +
			access + ")"}).Draw(t, "by user")
	case kind == 4 && column == "level":
		return rapid.SampledFrom([]string{access + " <= principal.level", "principal.level < " + access, "principal.levels.contains(" + access +
			")"}).Draw(t, "by user")
	case kind < 6 && strings.Contains(literal, "decimal"):
		return access + "." + rapid.SampledFrom([]string{"lessThan", "lessThanOrEqual", "greaterThan", "greaterThanOrEqual"}).Draw(t, "method") +
			"(" + literal + ")"
	case kind < 6 && !strings.HasPrefix(literal, `"`) && literal != "true" && literal != "false":
		op := rapid.SampledFrom([]string{"<", "<=", ">", ">="}).Draw(t, "order")
		if rapid.Bool().Draw(t, "turned") {
			return literal + " " + op + " " + access
		}
		return access + " " + op + " " + literal
	}
	return access + rapid.SampledFrom([]string{" == ", " != "}).Draw(t, "equal") + literal
}

func drawText(t *rapid.T, depth int) expression {
	switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
	case depth == 0 || kind == 3:
		if rapid.IntRange(0, 5).Draw(t, "foreign") == 0 {
			return drawForeign(t)
		}
		return expression{atom: drawAtom(t)}
	case kind == 0:
		return expression{op: "!", kids: []expression{drawText(t, depth-1)}}
	default:
		return expression{op: []string{"&&", "||"}[kind-1], kids: []expression{drawText(t, depth-1), drawText(t, depth-1)}}
	}
}

// clauses are the conditions of a policy: when, or unless.
type clauses []struct {
	unless bool
	body   expression
}

func (c clauses) String() string {
	var b strings.Builder
	for _, clause := range c {
		fmt.Fprintf(&b, " %s { %s }", map[bool]string{false: "when", true: "unless"}[clause.unless], clause.body)
	}
	return b.String()
}

// logic is the three-valued truth of all clauses.
func (c clauses) logic(atom func(string) tri) tri {
	out := yes
	for _, clause := range c {
		v := clause.body.logic(atom)
		if clause.unless {
			v = v.not()
		}
		out = min(out, v)
	}
	return out
}

// judged returns c with an error of Cedar instead of the tests whose operands have different types.
func (c clauses) judged(columns []engine.Column) clauses {
	c = slices.Clone(c)
	for i := range c {
		c[i].body = c[i].body.judged(columns)
	}
	return c
}

func (c clauses) atoms() (out []string) {
	for _, clause := range c {
		clause.body.logic(func(atom string) tri { out = append(out, atom); return maybe })
	}
	return out
}

// Over tables that lack columns, a permit written by hand shows what Cedar's evaluator
// permits with these attributes absent, and a forbid hides whatever the evaluator does
// not make false. If the only unknown is a NULL, a missing user attribute or a column of
// another type, three-valued logic may make a forbid false. A test of a column of another
// type is an error here, where Cedar can make it false, so a permit shows no more, and a
// forbid hides no less than Cedar. Literals that no value of the column equals are
// compared as Cedar does.
func TestHandWrittenTextsOverTablesThatLackColumns(t *testing.T) {
	all := rows()
	db := openRows(t, all)
	shown, hidden, failed, mistyped := 0, 0, 0, 0
	rare := func() bool { return shown <= 100 || hidden <= 100 || failed <= 20 || mistyped <= 100 }
	property := func(rt *rapid.T) {
		var p clauses
		for range rapid.IntRange(1, 3).Draw(rt, "clauses") {
			p = append(p, struct {
				unless bool
				body   expression
			}{rapid.Bool().Draw(rt, "unless"), drawText(rt, 3)})
		}
		effect := rapid.SampledFrom([]string{"permit", "forbid"}).Draw(rt, "effect")
		text := effect + " (principal, action, resource)" + p.String() + ";"
		w := world{role: "analyst", attrs: map[string]string{"region": "EU", "regions": "EU,US", "level": "5", "levels": "1,5"}}
		for _, name := range sorted(w.attrs) {
			if rapid.IntRange(0, 4).Draw(rt, "attribute") == 0 {
				delete(w.attrs, name)
			}
		}
		for _, c := range columns {
			if rapid.IntRange(0, 3).Draw(rt, "column") > 0 {
				w.columns = append(w.columns, c)
			}
		}
		request := sqlfilter.Request{
			Policies:  []sqlfilter.Policy{{ID: "p", Kind: policy.KindRLS, Text: text}},
			Principal: sqlfilter.Principal{UserID: "u1", Role: w.role, Attributes: w.attrs}, Columns: w.columns, Alias: "t",
		}
		if effect == "forbid" {
			request.Policies = append(request.Policies, sqlfilter.Policy{ID: "all", Kind: policy.KindRLS,
				Text: "permit (principal, action, resource);"})
		}
		f, err := sqlfilter.Compile(request)
		require.NoError(rt, err, text)
		got, err := query(db, f)
		require.NoError(rt, err, f.Predicate)

		original, err := cedar.NewPolicySetFromBytes("", []byte(text))
		require.NoError(rt, err, text)
		p = p.judged(w.columns)
		foreign := text != effect+" (principal, action, resource)"+p.String()+";"
		set, err := cedar.NewPolicySetFromBytes("", []byte(effect+" (principal, action, resource)"+p.String()+";"))
		require.NoError(rt, err, text)
		judge := map[string]*cedar.PolicySet{}
		for _, a := range p.atoms() {
			judge[a], err = cedar.NewPolicySetFromBytes("", []byte("permit (principal, action, resource) when { "+a+" };"))
			require.NoError(rt, err, a)
		}
		for i, r := range all {
			stripped, whole := row{}, len(w.attrs) == 4
			for _, c := range w.columns {
				stripped[c.Name] = r[c.Name]
				whole = whole && (r[c.Name] != nil || c.Type == sqltype.Double)
			}
			entities, req := cedarEntities(w, stripped)
			decision, diagnostic := cedar.Authorize(set, entities, req)
			visible := slices.Contains(got, i)
			if foreign && visible {
				mistyped++
				allowed, reasons := cedar.Authorize(original, entities, req)
				require.True(rt, effect == "permit" && bool(allowed) || effect == "forbid" && len(reasons.Reasons) == 0,
					"%s shows row %v to %v\npredicate %s", text, stripped, w.attrs, f.Predicate)
			}
			about := fmt.Sprintf("%s\ncolumns %v\nattributes %v row %v\npredicate %s", text, names(w.columns), w.attrs, stripped, f.Predicate)
			if visible {
				shown++
				require.True(rt, satisfies(columns, f.Condition, r), "%s\ncondition %+v", about, f.Condition)
			} else {
				hidden++
			}
			switch {
			case effect == "permit":
				require.Equal(rt, bool(decision), visible, about)
			case len(diagnostic.Errors) == 0:
				require.Equal(rt, len(diagnostic.Reasons) == 0, visible, about)
			case whole && !foreign:
				failed++
				require.False(rt, visible, about)
			case visible:
				require.Equal(rt, no, p.logic(atomTruth(judge, entities, req)), about)
			}
		}
	}
	for round := 0; round == 0 || rare() && round < 20; round++ { // chance decides what is drawn
		rapid.Check(t, property)
	}
	require.Greater(t, shown, 100)
	require.Greater(t, hidden, 100)
	require.Greater(t, failed, 20)
	require.Greater(t, mistyped, 100)
}

func names(columns []engine.Column) (out []string) {
	for _, c := range columns {
		out = append(out, c.Name)
	}
	return out
}

// A policy that cannot rely on the absence of a column decides nothing by it.
func TestUncertainColumns(t *testing.T) {
	const all = "permit (principal, action, resource);"
	for text, want := range map[string]string{
		`permit (principal, action, resource) when { !(resource has nope) };`:                        "FALSE",
		`permit (principal, action, resource) when { !(resource has nope) || resource.level == 1 };`: "FALSE",
		`permit (principal, action, resource) when { resource.level == 1 || !(resource has nope) };`: `"t"."level" = CAST(1 ` +
			`AS BIGINT)`,
		`forbid (principal, action, resource) when { resource has nope && resource.nope == 1 };`: "FALSE",
		`forbid (principal, action, resource) when { resource.level == 1 && resource has nope };`: `"t"."level" <> CAST(1 ` +
			`AS BIGINT)`,
		`permit (principal, action, resource) when { !(resource has other) && resource.level == 1 };`: `"t"."level" = CAST(1 ` +
			`AS BIGINT)`,
		`forbid (principal, action, resource) when { resource has other || resource has level && resource.level==1};`: `("t"."level" IS NULL ` +
			`OR "t"."level" <> CAST(1 AS BIGINT))`,
	} {
		policies := []sqlfilter.Policy{{ID: "p", Kind: policy.KindRLS, Text: text,
			Uncertain: func(column string) bool { return column == "nope" }}}
		if strings.HasPrefix(text, "forbid") {
			policies = append(policies, sqlfilter.Policy{ID: "q", Kind: policy.KindRLS, Text: all})
		}
		f, err := sqlfilter.Compile(sqlfilter.Request{Policies: policies, Columns: columns, Alias: "t"})
		require.NoError(t, err)
		require.Equal(t, want, f.Predicate, text)
	}
}
