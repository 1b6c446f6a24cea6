package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/policy"
)

func mustDecode(t *testing.T, text string) policy.Definition {
	t.Helper()
	d, err := policy.Decode([]byte(text))
	require.NoError(t, err)
	return d
}

func TestRenderedText(t *testing.T) {
	for name, tc := range map[string]struct{ json, want string }{
		"all rows": {`{"effect":"permit","subject":{"everyone":true}}`, `permit (principal, action, resource);`},
		"role": {`{"effect":"forbid","subject":{"role":"an\"alyst"},"condition":{"op":"eq","value":"EU"}}`,
			`forbid (principal in Role::"an\"alyst", action, resource)
when { !(resource has Region) || resource.Region == "EU" };`},
		"row filter": {`{"effect":"permit","subject":{"attribute":"region","op":"in"}}`,
			`permit (principal, action, resource)
when { principal has region && resource has Region && principal.region.contains(resource.Region) };`},
		"user and rows": {`{"effect":"permit","subject":{"attribute":"clearance","op":"gte","value":3},` +
			`"condition":{"not":{"and":[{"column":"LEVEL","op":"lt","value":5},{"column":"active","op":"is_null"}]}}}`,
			`permit (principal, action, resource)
when { (principal has clearance && principal.clearance >= 3) && ((resource has level && resource.level >= 5) || (resource has active)) };`},
		"types": {`{"effect":"forbid","subject":{"everyone":true},"condition":{"or":[{"column":"amount","op":"lt","value":2},{"column":"born",` +
			`"op":"gte","value":"2024-02-29"},{"column":"seen","op":"eq","value":"2024-02-29T12:00:00+0200"},{"column":"amount","op":"not_in",` +
			`"value":[1,2.5]},{"column":"in \"odd\" näme","op":"contains","value":"*%_"}]}}`,
			`forbid (principal, action, resource)
when { (!(resource has amount) || resource.amount.lessThan(decimal("2.0"))) || (!(resource has born) || ` +
				`resource.born >= datetime("2024-02-29")) || (!(resource has seen) || ` +
				`resource.seen == datetime("2024-02-29T10:00:00.000Z")) || (!(resource has amount) || ` +
				`!([decimal("1.0"), decimal("2.5")].contains(resource.amount))) || (!(resource has "in \"odd\" näme") || ` +
				`resource["in \"odd\" näme"] like "*\*%_*") };`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := policy.Render(mustDecode(t, tc.json), "Region", policy.KindRLS, columns)
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestTextErrorsHaveAPosition(t *testing.T) {
	const head = "permit (principal, action, resource)\nwhen { "
	for name, tc := range map[string]struct {
		text         string
		line, column int
	}{
		"empty":               {"", 1, 1},
		"not a policy":        {"select 1", 1, 8},
		"second policy":       {"permit (principal, action, resource);\n  permit (principal, action, resource);", 2, 3},
		"no semicolon":        {"permit (principal, action, resource)", 1, 37},
		"other entity":        {`permit (principal == Group::"x", action, resource);`, 1, 9},
		"other action":        {`permit (principal, action == Action::"write", resource);`, 1, 20},
		"resource":            {`permit (principal, action, resource == Table::"t");`, 1, 28},
		"template":            {`permit (principal == ?principal, action, resource);`, 1, 23},
		"context":             {head + "context.ip == 1 };", 2, 8},
		"if":                  {head + "if true then true else false };", 2, 8},
		"arithmetic":          {head + "resource.a + 1 == 2 };", 2, 19},
		"two columns":         {head + "resource.a == resource.b };", 2, 19},
		"two literals":        {head + "1 == 1 };", 2, 10},
		"two attributes":      {head + "principal.a == principal.b };", 2, 20},
		"deep member":         {head + "resource.a.b == 1 };", 2, 18},
		"empty name":          {head + `resource.b == 1 || [0].contains(resource[""]) };`, 2, 40},
		"has an empty name":   {head + `resource has "" };`, 2, 17},
		"deep has":            {head + "resource has a.b };", 2, 17},
		"reserved name":       {head + "resource.in == 1 };", 2, 20},
		"value as condition":  {head + "\"x\" };", 2, 8},
		"number in and":       {head + "true && 1 };", 2, 16},
		"attribute alone":     {head + "principal.flag };", 2, 8},
		"not of a value":      {head + "!5 };", 2, 9},
		"open string":         {head + "resource.a == \"x };", 2, 22},
		"escape":              {head + "resource.a == \"\\q\" };", 2, 22},
		"number too large":    {head + "resource.a == 9223372036854775808 };", 1, 1},
		"decimal":             {head + "resource.a == decimal(\"1\") };", 2, 22},
		"datetime":            {head + "resource.a == datetime(\"2023-02-29\") };", 2, 22},
		"function":            {head + "resource.a == ip(\"::1\") };", 2, 22},
		"method":              {head + "resource.a.isEmpty() };", 2, 18},
		"containsAny":         {head + "principal.a.containsAny([1]) };", 2, 19},
		"contains of columns": {head + "resource.a.contains(resource.b) };", 2, 18},
		"in a list":           {head + "resource.a in [1] };", 2, 19},
		"variable list":       {head + "[resource.a].contains(principal.b) };", 2, 9},
		"wide characters":     {head + "resource[\"€𝄞\"] == x };", 2, 28},
		"unknown character":   {head + "resource.a = 1 };", 2, 21},
		"invalid UTF-8":       {head + "resource.a == \"\xff\" };", 1, 1},
		"nested":              {head + strings.Repeat("(", 100) + "true" + strings.Repeat(")", 100) + " };", 2, 71},
		"many nots":           {head + strings.Repeat("!", 70000), 1, 1},
		"too many tests":      {head + "true" + strings.Repeat(" && resource.a", 300) + " };", 1, 1},
		"wildcards":           {head + "resource.a == 1 ||\n resource.b like \"" + strings.Repeat("*a", 65) + "\" };", 3, 18},
		"long pattern":        {head + "resource.b like \"" + strings.Repeat("a", 1000) + "*b\" };", 2, 19},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := policy.Parse(tc.text)
			var at *policy.TextError
			require.ErrorAs(t, err, &at)
			require.Equal(t, [2]int{tc.line, tc.column}, [2]int{at.Line, at.Column}, at.Message)
			require.ErrorIs(t, err, policy.ErrText)
			require.NotEmpty(t, at.Message)
		})
	}
}

func TestHandWrittenTexts(t *testing.T) {
	for _, text := range []string{
		`permit(principal,action,resource);`,
		"@id(\"a\")\n@note // why\npermit (\n  principal is User in Role::\"r\",\n  action == Action::\"read\",\n  resource is Row\n) unless { " +
			"resource has \"a b\" };",
		`permit (principal == User::"u", action, resource) when { principal in Role::"a" && principal != User::"x" };`,
		`permit (principal, action, resource) when { (((resource.a))) };`,
		`permit (principal, action, resource) when { -5 <= resource["a"] && principal["b c"].contains(5) };`,
		`permit (principal, action, resource) when { resource.a == "\u{1F600}\x41\n\0\'\\" || resource.a like "\*\u{e9}*" };`,
		`forbid (principal, action, resource) when { !!!(resource.a == true) && [].contains(resource.b) };`,
	} {
		p, err := policy.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, strings.HasPrefix(text, "forbid"), p.Effect() == policy.Forbid)
	}
	p, err := policy.Parse(`permit (principal, action, resource) when { resource.b == principal.x && !(resource has a) && resource["b"] ` +
		`like "*" };`)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, p.Columns())
}
