package sqlfilter_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
)

func TestDerive(t *testing.T) {
	const head = "permit (principal, action, resource) when { "
	for name, tc := range map[string]struct{ text, want string }{
		"everyone": {`permit (principal, action, resource);`, `{"effect":"permit","subject":{"everyone":true}}`},
		"role and test": {`forbid (principal in Role::"r", action, resource) when { resource.Region == "EU" };`,
			`{"effect":"forbid","subject":{"role":"r"},"condition":{"column":"Region","op":"eq","value":"EU"}}`},
		"user attribute": {head + `principal.level >= 3 && resource.active };`,
			`{"effect":"permit","subject":{"attribute":"level","op":"gte","value":3},"condition":{"column":"active","op":"eq","value":true}}`},
		"row filter": {head + `principal.regions.contains(resource.Region) };`,
			`{"effect":"permit","subject":{"everyone":true},"condition":{"column":"Region","op":"in","attribute":"regions"}}`},
		"turned round": {head + `5 > resource.level && datetime("2024-02-29") == resource.born };`,
			`{"effect":"permit","subject":{"everyone":true},"condition":{"and":[{"column":"level","op":"lt","value":5},{"column":"born","op":"eq",` +
				`"value":"2024-02-29"}]}}`},
		"not like": {head + `resource has Region && !(resource.Region like "E*\*") };`,
			`{"effect":"permit","subject":{"everyone":true},"condition":{"not":{"column":"Region","op":"like","value":"E*\\*"}}}`},
		"unless": {`forbid (principal, action, resource) unless { resource has level && resource.level == 1 };`,
			`{"effect":"forbid","subject":{"everyone":true},"condition":{"column":"level","op":"neq","value":1}}`},
		"order matters": {head + `resource.level == 1 || resource.tiny == 2 };`, ""},
		"guarded or": {head + `(resource has level && resource.level == 1) || (resource has tiny && resource.tiny == 2) };`,
			`{"effect":"permit","subject":{"everyone":true},"condition":{"or":[{"column":"level","op":"eq","value":1},{"column":"tiny","op":"eq",` +
				`"value":2}]}}`},
		"one user":        {`permit (principal == User::"u", action, resource);`, ""},
		"two user tests":  {head + `principal.a == "x" && principal.b == "y" };`, ""},
		"user test in or": {head + `principal has a && principal.a == "x" || resource has level };`, ""},
		"constant":        {head + `true || resource has level };`, ""},
		"guard elsewhere": {head + `resource has tiny && resource.level == 1 };`,
			`{"effect":"permit","subject":{"everyone":true},"condition":{"and":[{"column":"tiny","op":"is_not_null"},{"column":"level","op":"eq",` +
				`"value":1}]}}`},
		"wrong literal":    {head + `resource.level == "x" };`, ""},
		"about a column":   {`permit (principal, action == Action::"unmask", resource == Column::"level");`, ""},
		"half a guard, or": {`forbid (principal, action, resource) when { resource has level && resource.level == 1 };`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := policy.Parse(tc.text)
			require.NoError(t, err)
			got, ok := sqlfilter.Derive(p, policy.KindRLS, columns)
			require.Equal(t, tc.want != "", ok, "%+v", got)
			if ok {
				want, err := policy.Decode([]byte(tc.want))
				require.NoError(t, err)
				require.Empty(t, cmp.Diff(want, got))
			}
		})
	}
}

// Whatever a valid definition renders is read again as a text, and derives a definition that shows
// the same rows as the text.
func TestRenderedTextsDeriveTheirMeaning(t *testing.T) {
	all := rows()
	db := openRows(t, all)
	derived, total := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		defs, w := scenario(rt)
		// Not every text that mixes subjects on attributes with rows can be separated again.
		for i, d := range defs {
			cols := columns
			text, err := policy.Render(d.def, d.column, policy.KindRLS, cols)
			if err != nil {
				cols = nil
				text, err = policy.Render(d.def, d.column, policy.KindRLS, nil)
				require.NoError(rt, err)
			}
			parsed, err := policy.Parse(text)
			require.NoError(rt, err, text)
			if cols != nil || !parsed.DependsOnReading() {
				total++
			}
			back, ok := sqlfilter.Derive(parsed, policy.KindRLS, cols)
			if !ok {
				continue
			}
			derived++
			before, err := sqlfilter.Compile(sqlfilter.Request{
				Policies: []sqlfilter.Policy{{ID: "0", Kind: policy.KindRLS, Text: text}}, Columns: columns, Alias: "t",
				Principal: sqlfilter.Principal{UserID: "u1", Role: w.role, Attributes: w.attrs},
			})
			require.NoError(rt, err)
			after, texts, err := compileAll([]bound{{back, ""}}, w, cols != nil)
			require.NoError(rt, err)
			want, err := query(db, before)
			require.NoError(rt, err)
			got, err := query(db, after)
			require.NoError(rt, err)
			require.Equal(rt, want, got, "policy %d\n%s\n%s", i, text, texts)
		}
	})
	require.Greater(t, derived*10, total*7, "derived %d of %d", derived, total)
}

// A text for every table has no definition if the definition would read its literals in more ways.
func TestDeriveForEveryTable(t *testing.T) {
	for condition, want := range map[string]bool{
		`resource.region == "EU"`:                          true,
		`resource.a.lessThan(decimal("1.5"))`:              true,
		`resource.a == true`:                               true,
		`resource.a == 5`:                                  false, // a definition compares decimals with 5 too
		`resource.a == "5"`:                                false,
		`resource.a == "2024-02-29"`:                       false,
		`["EU", "2024-02-29"].contains(resource.a)`:        false,
		`principal.level == 5 && resource.region like "*"`: true,
		`resource.a < decimal("1.5")`:                      false, // an error for Cedar
	} {
		p, err := policy.Parse("permit (principal, action, resource) when { " + condition + " };")
		require.NoError(t, err)
		_, ok := sqlfilter.Derive(p, policy.KindRLS, nil)
		require.Equal(t, want, ok, condition)
	}
}

func TestCheckRefusesTextsWhoseMeaningGrows(t *testing.T) {
	p, err := policy.Parse("permit (principal, action, resource) when { " + strings.Repeat("(", 40) + "resource.a == 1" +
		strings.Repeat(" || resource.b == 2) && resource.c == 3", 40) + " };")
	require.NoError(t, err)
	require.ErrorIs(t, sqlfilter.Check(p), policy.ErrText)
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`permit (principal in Role::"r", action, resource) when { resource has a && resource.a.lessThan(decimal("1.5")) };`,
		`@a("b") forbid (principal, action, resource is Row) unless { [1, -2].contains(resource["x y"]) || !(principal.l.contains(3)) };`,
		`permit (principal, action, resource) when { resource.a like "\*x*\u{e9}" && principal == User::"u" };`,
		`permit (principal, action, resource) when { datetime("2024-02-29") >= resource.t && true == resource.b };`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := policy.Parse(text)
		if err != nil {
			var at *policy.TextError
			require.ErrorAs(t, err, &at)
			require.Positive(t, at.Line)
			require.Positive(t, at.Column)
			return
		}
		_, err = sqlfilter.Compile(sqlfilter.Request{
			Policies: []sqlfilter.Policy{{ID: "p", Kind: policy.KindRLS, Text: text}}, Columns: columns, Alias: "t",
			Principal: sqlfilter.Principal{UserID: "u", Role: "r", Attributes: map[string]string{"l": "1,2", "a": "x"}},
		})
		if err != nil {
			require.ErrorIs(t, err, sqlfilter.ErrPolicy)
		}
		if d, ok := sqlfilter.Derive(p, policy.KindRLS, nil); ok {
			_, err := policy.Render(d, "", policy.KindRLS, nil)
			require.NoError(t, err)
		}
	})
}
