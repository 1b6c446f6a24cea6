package sqlfilter_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

func compileTexts(t *testing.T, attrs map[string]string, texts ...string) sqlfilter.Filter {
	t.Helper()
	req := sqlfilter.Request{Columns: columns, Alias: `t`, Principal: sqlfilter.Principal{UserID: "u1", Role: "analyst", Attributes: attrs}}
	for i, text := range texts {
		req.Policies = append(req.Policies, sqlfilter.Policy{ID: string(rune('a' + i)), Version: 1, Kind: policy.KindRLS, Text: text})
	}
	f, err := sqlfilter.Compile(req)
	require.NoError(t, err)
	return f
}

func TestPredicates(t *testing.T) {
	const permit, forbid = "permit (principal, action, resource) when { ", "forbid (principal, action, resource) when { "
	const all = "permit (principal, action, resource);"
	attrs := map[string]string{"region": "EU", "regions": "US, EU,US", "level": "5", "text": "x'y"}
	for name, tc := range map[string]struct {
		texts []string
		want  string
	}{
		"guards cost nothing": {[]string{permit + `resource has level && resource.level == 5 };`}, `"t"."level" = CAST(5 AS BIGINT)`},
		"forbid pushes not":   {[]string{all, forbid + `!(resource has level) || resource.level == 5 };`}, `"t"."level" <> CAST(5 AS BIGINT)`},
		"bare forbid hides":   {[]string{all, forbid + `resource.level < 5 };`}, `"t"."level" >= CAST(5 AS BIGINT)`},
		"attribute is typed":  {[]string{permit + `resource.level >= principal.level };`}, `"t"."level" >= CAST(5 AS BIGINT)`},
		"attribute list":      {[]string{permit + `principal.regions.contains(resource.region) };`}, `"t"."Region" IN ('EU', 'US')`},
		"not in list":         {[]string{all, forbid + `principal.regions.contains(resource.region) };`}, `"t"."Region" NOT IN ('EU', 'US')`},
		"quoting":             {[]string{permit + `resource["in \"odd\" näme"] == principal.text };`}, `"t"."in ""odd"" näme" = 'x''y'`},
		"permits join": {[]string{permit + `resource.level == 1 };`, permit + `resource.tiny == 2 };`},
			`("t"."level" = CAST(1 AS BIGINT) OR "t"."tiny" = CAST(2 AS TINYINT))`},
		"equal permits are one": {[]string{permit + `resource.level == 1 };`, permit + `resource.LEVEL == 1 };`},
			`"t"."level" = CAST(1 AS BIGINT)`},
		"forbids win": {[]string{permit + `resource.level == 1 };`, forbid + `resource.active };`},
			`("t"."active" = FALSE AND "t"."level" = CAST(1 AS BIGINT))`},
		"forbid only":         {[]string{forbid + `resource.level == 1 };`}, `FALSE`},
		"missing attribute":   {[]string{permit + `resource.level == principal.nope };`}, `FALSE`},
		"missing, forbid":     {[]string{all, forbid + `resource.level == principal.nope };`}, `FALSE`},
		"unknown column":      {[]string{permit + `resource.nope == 1 };`}, `FALSE`},
		"unknown column, has": {[]string{permit + `resource has nope };`}, `FALSE`},
		"unknown after true":  {[]string{permit + `resource.level == 1 || resource.nope == 1 };`}, `"t"."level" = CAST(1 AS BIGINT)`},
		"unknown before true": {[]string{permit + `resource.nope == "eu" || resource.level > 0 };`}, `FALSE`},
		"unknown and false":   {[]string{permit + `!(resource.nope == 1 && resource.level > 0) };`}, `FALSE`},
		"unknown, guarded": {[]string{permit + `resource has nope && resource.nope == 1 || resource.level > 0 };`},
			`"t"."level" > CAST(0 AS BIGINT)`},
		"unknown like":         {[]string{permit + `resource.nope like "*" || resource.level > 0 };`}, `FALSE`},
		"unknown in a list":    {[]string{permit + `[1, 2].contains(resource.nope) || resource.level > 0 };`}, `FALSE`},
		"unknown in attribute": {[]string{permit + `principal.regions.contains(resource.nope) || resource.level > 0 };`}, `FALSE`},
		"unknown boolean":      {[]string{permit + `resource.nope || resource.level > 0 };`}, `FALSE`},
		"unknown in unless": {[]string{`permit (principal, action, resource) when { resource.level > 0 } unless { resource.nope == 1 };`},
			`FALSE`},
		"unknown and, forbid": {[]string{all, forbid + `resource.nope == 1 && resource.level > 0 };`}, `FALSE`},
		"false and unknown":   {[]string{all, forbid + `resource.level > 0 && resource.nope == 1 };`}, `"t"."level" <= CAST(0 AS BIGINT)`},
		"unknown, forbid twice": {[]string{all, `forbid (principal, action, resource) when { resource.nope == 1 } when { principal.region == ` +
			`"US" };`}, `FALSE`},
		"null, out of range": {[]string{permit + `resource.tiny == 300 || resource.level > 0 };`},
			`("t"."tiny" IS NOT NULL AND "t"."level" > CAST(0 AS BIGINT))`},
		"null of a wrong type":  {[]string{permit + `resource.tiny == "300" || resource.level > 0 };`}, `FALSE`},
		"undecided and unknown": {[]string{permit + `(principal.text > 5 && resource.nope == 1) || resource.level > 0 };`}, `FALSE`},
		"unknown, forbid":       {[]string{all, forbid + `resource.nope == 1 };`}, `FALSE`},
		"uncastable":            {[]string{permit + `resource.level != principal.region };`}, `FALSE`},
		"out of range":          {[]string{permit + `resource.tiny != 300 };`}, `"t"."tiny" IS NOT NULL`},
		"below the range": {[]string{permit + `resource.tiny > -1000 && resource.level > 0 };`},
			`("t"."tiny" IS NOT NULL AND "t"."level" > CAST(0 AS BIGINT))`},
		"out of range, order": {[]string{permit + `resource.tiny >= 128 };`}, `FALSE`},
		"out of range, list":  {[]string{permit + `[1, 300, -129].contains(resource.tiny) };`}, `"t"."tiny" = CAST(1 AS TINYINT)`},
		"more digits": {[]string{permit + `resource.amount.lessThan(decimal("1.2501")) };`},
			`"t"."amount" <= CAST('1.25' AS DECIMAL(10,2))`},
		"more digits, negative": {[]string{permit + `resource.amount.lessThanOrEqual(decimal("-1.2501")) };`},
			`"t"."amount" < CAST('-1.25' AS DECIMAL(10,2))`},
		"more digits than any": {[]string{permit + `resource.amount.greaterThan(decimal("-922337203685477.5808")) };`},
			`"t"."amount" IS NOT NULL`},
		"time of a date":           {[]string{permit + `resource.born >= datetime("2024-02-29T10:30:00Z") };`}, `"t"."born" > DATE '2024-02-29'`},
		"order of text":            {[]string{permit + `resource.region < "x" };`}, `FALSE`},
		"text for an integer":      {[]string{permit + `resource.level == "5" };`}, `FALSE`},
		"text for an integer, not": {[]string{permit + `resource.level != "5" };`}, `FALSE`},
		"integer for a decimal":    {[]string{permit + `resource.amount == 5 };`}, `FALSE`},
		"text for a boolean":       {[]string{permit + `resource.active == "true" };`}, `FALSE`},
		"text for a date":          {[]string{permit + `resource.born == "2024-02-29" };`}, `FALSE`},
		"wrong type behind and": {[]string{permit + `!(resource has level && resource.level < "5" && resource.active) };`},
			`"t"."level" IS NULL`},
		"wrong type behind has, forbid": {[]string{all, forbid + `resource has level && resource.level == "5" && resource.active };`},
			`("t"."level" IS NULL OR "t"."active" = FALSE)`},
		"wrong type, forbid":   {[]string{all, forbid + `resource.level == "5" };`}, `FALSE`},
		"wrong type in a list": {[]string{permit + `[5, "5"].contains(resource.level) };`}, `FALSE`},
		"pattern of a number": {[]string{permit + `!(resource has level && resource.level like "5" && resource.active) };`},
			`"t"."level" IS NULL`},
		"number as condition":        {[]string{permit + `resource.level || resource.active };`}, `FALSE`},
		"order of decimals":          {[]string{permit + `resource.amount < decimal("1.5") };`}, `FALSE`},
		"method of integers":         {[]string{permit + `resource.level.lessThan(5) };`}, `FALSE`},
		"method of attribute":        {[]string{permit + `resource.level.lessThan(principal.level) };`}, `FALSE`},
		"order of decimal attribute": {[]string{permit + `principal.level < decimal("6.5") };`}, `FALSE`},
		"years beyond four digits":   {[]string{permit + `resource.at < datetime("+000010000-01-01") };`}, `FALSE`},
		"double":                     {[]string{permit + `resource.score == decimal("1.5") };`}, `FALSE`},
		"double is there":            {[]string{permit + `resource has score };`}, `"t"."score" IS NOT NULL`},
		"other role":                 {[]string{`permit (principal in Role::"admin", action, resource);`}, `FALSE`},
		"own role": {[]string{`permit (principal in Role::"analyst", action, resource) when { resource.active };`},
			`"t"."active" = TRUE`},
		"other user": {[]string{`permit (principal == User::"u2", action, resource);`}, `FALSE`},
		"forbid for others": {[]string{permit + `resource.active };`, `forbid (principal in Role::"admin", action, resource);`},
			`"t"."active" = TRUE`},
		"null only":    {[]string{permit + `!(resource has level) };`}, `"t"."level" IS NULL`},
		"null and not": {[]string{permit + `!(resource has level) && resource has level };`}, `FALSE`},
		"dates": {[]string{permit + `resource.born == datetime("2024-02-29") && resource.at < datetime("2024-02-29T10:30:00Z") ` +
			`&& resource.seen >= datetime("2024-02-29T12:30:00.001+0200") };`},
			`("t"."born" = DATE '2024-02-29' AND "t"."at" < TIMESTAMP '2024-02-29 10:30:00.000' AND "t"."seen" >= TIMESTAMPTZ '2024-02-29 ` +
				`10:30:00.001+00')`},
		"decimal": {[]string{permit + `resource.amount.lessThanOrEqual(decimal("1.50")) };`},
			`"t"."amount" <= CAST('1.5' AS DECIMAL(10,2))`},
		"prefix":        {[]string{permit + `resource.region like "a'%*" };`}, `system.main.prefix("t"."Region", 'a''%')`},
		"suffix":        {[]string{permit + `resource.region like "*a" };`}, `system.main.suffix("t"."Region", 'a')`},
		"contains":      {[]string{permit + `resource.region like "*a*" };`}, `system.main.contains("t"."Region", 'a')`},
		"like":          {[]string{permit + `resource.region like "a*b_\\" };`}, `system.main.like_escape("t"."Region", 'a%b\_\\', '\')`},
		"not like":      {[]string{all, forbid + `resource.region like "a*" };`}, `NOT (system.main.prefix("t"."Region", 'a'))`},
		"like, several": {[]string{permit + `resource.region like "*a'\\*b*" };`}, `system.main."~~"("t"."Region", '%a''\%b%')`},
		"like, several escapes": {[]string{permit + `resource.region like "*a_*b.%*" };`},
			`system.main.regexp_full_match("t"."Region", '.*a_.*b\.%.*', 's')`},
		"like, at the end":      {[]string{permit + `resource.region like "a*b_*" };`}, `system.main.like_escape("t"."Region", 'a%b\_%', '\')`},
		"like without wildcard": {[]string{permit + `resource.region like "a" };`}, `"t"."Region" = 'a'`},
		"smallest integer": {[]string{permit + `resource.level == -9223372036854775808 };`},
			`"t"."level" = CAST(-9223372036854775808 AS BIGINT)`},
		"order of errors": {[]string{permit + `resource.level == 1 || resource.tiny == 2 };`},
			`("t"."level" = CAST(1 AS BIGINT) OR ("t"."level" <> CAST(1 AS BIGINT) AND "t"."tiny" = CAST(2 AS TINYINT)))`},
	} {
		t.Run(name, func(t *testing.T) {
			f := compileTexts(t, attrs, tc.texts...)
			require.True(t, f.Restricted)
			require.Equal(t, tc.want, f.Predicate)
			require.Equal(t, tc.want == "FALSE", f.Deny)
			for _, c := range f.Columns {
				require.Contains(t, f.Predicate, `"t".`+engine.QuoteIdent(c))
			}
		})
	}
}

func TestEverythingVisible(t *testing.T) {
	require.Empty(t, cmp.Diff(sqlfilter.Filter{}, compileTexts(t, nil)))
	require.Empty(t, cmp.Diff(sqlfilter.Filter{}, compileTexts(t, nil, `permit (principal, action, resource);`)))
	require.Empty(t, cmp.Diff(sqlfilter.Filter{}, compileTexts(t, nil, `permit (principal, action, resource) when { !(resource has nope) };`)))
	require.Empty(t, cmp.Diff(sqlfilter.Filter{}, compileTexts(t, nil, `permit (principal, action, resource);`,
		`forbid (principal, action, resource) when { resource has nope && resource.nope == 1 };`)))
	require.Empty(t, cmp.Diff(sqlfilter.Filter{}, compileTexts(t, map[string]string{"dept": "hr"},
		`permit (principal, action, resource) when { principal.dept == "hr" };`,
		`forbid (principal, action, resource) when { principal.dept == "it" };`)))
}

// What cannot be understood is an error: the caller then reads nothing.
func TestUnusablePolicies(t *testing.T) {
	const text = `permit (principal, action, resource);`
	for name, p := range map[string]sqlfilter.Policy{
		"no text":       {ID: "p", Kind: policy.KindRLS},
		"not ours":      {ID: "p", Kind: policy.KindRLS, Text: `permit (principal, action, resource) when { context.a };`},
		"column policy": {ID: "p", Kind: policy.KindRLS, Text: `permit (principal, action == Action::"unmask", resource == Column::"a");`},
		"cls":           {ID: "p", Kind: policy.KindCLS, Text: text, ColumnName: "level"},
		"mask":          {ID: "p", Kind: policy.KindMask, Text: text, ColumnName: "level"},
		"no kind":       {ID: "p", Text: text},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := sqlfilter.Compile(sqlfilter.Request{
				Policies: []sqlfilter.Policy{{ID: "a", Kind: policy.KindRLS, Text: text}, p}, Columns: columns, Alias: "t",
			})
			require.ErrorIs(t, err, sqlfilter.ErrPolicy)
			require.Empty(t, cmp.Diff(sqlfilter.Filter{}, f))
		})
	}
}

// An attribute of any size gives a bounded predicate or an error.
func TestLargeAttributes(t *testing.T) {
	for _, n := range []int{policy.MaxListValues, policy.MaxListValues + 1} {
		list := strings.TrimSuffix(strings.Repeat("12,", n), ",")
		f := compileTexts(t, map[string]string{"l": list}, `permit (principal, action, resource) when { principal.l.contains(resource.level) };`)
		require.Equal(t, n > policy.MaxListValues, f.Deny)
		f = compileTexts(t, map[string]string{"l": "[" + list + "]"},
			`permit (principal, action, resource) when { principal.l.contains(resource.level) };`)
		require.Equal(t, n > policy.MaxListValues, f.Deny)
	}
	_, err := sqlfilter.Compile(sqlfilter.Request{
		Policies: []sqlfilter.Policy{{ID: "p", Kind: policy.KindRLS,
			Text: `permit (principal, action, resource) when { resource.Region == principal.x };`}},
		Columns: columns, Alias: "t", Principal: sqlfilter.Principal{Attributes: map[string]string{"x": strings.Repeat("y", 3<<20)}},
	})
	require.ErrorIs(t, err, sqlfilter.ErrPolicy)
}

func TestColumnsByCase(t *testing.T) {
	columns := []engine.Column{{Name: "A", Type: sqltype.BigInt}, {Name: "a", Type: sqltype.BigInt}, {Name: "Ä", Type: sqltype.BigInt}}
	for name, want := range map[string]string{"A": `"x"."A" = CAST(1 AS BIGINT)`, "a": `"x"."a" = CAST(1 AS BIGINT)`,
		"Ä": `"x"."Ä" = CAST(1 AS BIGINT)`, "ä": "FALSE"} {
		f, err := sqlfilter.Compile(sqlfilter.Request{
			Policies: []sqlfilter.Policy{{ID: "p", Kind: policy.KindRLS, Text: `permit (principal, action, resource) when { resource["` + name +
				`"] == 1 };`}},
			Columns: columns, Alias: "x",
		})
		require.NoError(t, err)
		require.Equal(t, want, f.Predicate)
	}
	require.True(t, policy.HasColumn(columns[:1], "a"))
	two := []engine.Column{{Name: "AB", Type: sqltype.BigInt}, {Name: "Ab", Type: sqltype.BigInt}}
	require.True(t, policy.HasColumn(two, "ab"), "a policy about either applies")
	f, err := sqlfilter.Compile(sqlfilter.Request{
		Policies: []sqlfilter.Policy{{ID: "p", Kind: policy.KindRLS, ColumnName: "ab",
			Text: `permit (principal, action, resource) when { resource["ab"] == 1 };`}},
		Columns: two, Alias: "x",
	})
	require.NoError(t, err)
	require.Equal(t, "FALSE", f.Predicate, "and decides nothing")
}

func BenchmarkCompile(b *testing.B) {
	req := sqlfilter.Request{
		Policies: []sqlfilter.Policy{
			{ID: "1", Kind: policy.KindRLS, Text: `permit (principal in Role::"analyst", action, resource) when { principal has region && ` +
				`resource has Region && principal.region.contains(resource.Region) };`},
			{ID: "2", Kind: policy.KindRLS, Text: `forbid (principal, action, resource) when { !(resource has level) || resource.level > 5 };`},
		},
		Columns: columns, Alias: "t", Principal: sqlfilter.Principal{UserID: "u", Role: "analyst",
			Attributes: map[string]string{"region": "EU,US"}},
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sqlfilter.Compile(req); err != nil {
			b.Fatal(err)
		}
	}
}
