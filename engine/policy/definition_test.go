package policy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// columns are those of the table that the tests are about.
var columns = []engine.Column{
	{Name: "Region", Type: sqltype.Varchar, Nullable: true},
	{Name: "level", Type: sqltype.BigInt, Nullable: true},
	{Name: "tiny", Type: sqltype.TinyInt, Nullable: true},
	{Name: "amount", Type: sqltype.MustParse("DECIMAL(10,2)"), Nullable: true},
	{Name: "active", Type: sqltype.Boolean, Nullable: true},
	{Name: "born", Type: sqltype.Date, Nullable: true},
	{Name: "seen", Type: sqltype.TimestampTZ, Nullable: true},
	{Name: "score", Type: sqltype.Double, Nullable: true},
	{Name: `in "odd" näme`, Type: sqltype.Varchar, Nullable: true},
}

// wrap puts a condition into a definition.
func wrap(condition string) string {
	return `{"effect":"permit","subject":{"everyone":true},"condition":` + condition + `}`
}

func TestDefinitionErrorsNameTheField(t *testing.T) {
	nested := func(n int) string {
		return strings.Repeat(`{"not":`, n-1) + `{"op":"is_null"}` + strings.Repeat("}", n-1)
	}
	many := func(n int) string {
		return `{"or":[` + strings.Repeat(`{"op":"is_null"},`, n-1) + `{"op":"is_null"}]}`
	}
	deepField := "definition.condition" + strings.Repeat(".not", policy.MaxDepth)
	for name, tc := range map[string]struct{ json, field, code string }{
		"not json":               {`{"effect":`, "definition", policy.CodeInvalid},
		"trailing":               {`{} {}`, "definition", policy.CodeInvalid},
		"not an object":          {`[]`, "definition", policy.CodeInvalid},
		"null":                   {`null`, "definition", policy.CodeInvalid},
		"unknown member":         {`{"efect":"permit"}`, "definition.efect", policy.CodeUnknownField},
		"member twice":           {`{"effect":"permit","effect":"forbid"}`, "definition.effect", policy.CodeInvalid},
		"no effect":              {`{"subject":{"everyone":true}}`, "definition.effect", policy.CodeRequired},
		"wrong effect":           {`{"effect":"allow","subject":{"everyone":true}}`, "definition.effect", policy.CodeInvalid},
		"effect not a string":    {`{"effect":1}`, "definition.effect", policy.CodeInvalid},
		"no subject":             {`{"effect":"permit"}`, "definition.subject", policy.CodeRequired},
		"everyone false":         {`{"effect":"permit","subject":{"everyone":false}}`, "definition.subject", policy.CodeRequired},
		"everyone not a boolean": {`{"effect":"permit","subject":{"everyone":"yes"}}`, "definition.subject.everyone", policy.CodeInvalid},
		"two subjects":           {`{"effect":"permit","subject":{"everyone":true,"role":"x"}}`, "definition.subject", policy.CodeInvalid},
		"empty role":             {`{"effect":"permit","subject":{"role":""}}`, "definition.subject.role", policy.CodeInvalid},
		"role with value":        {`{"effect":"permit","subject":{"role":"x","value":1}}`, "definition.subject.value", policy.CodeInvalid},
		"role with op":           {`{"effect":"permit","subject":{"role":"x","op":"eq"}}`, "definition.subject.op", policy.CodeInvalid},
		"attribute without op":   {`{"effect":"permit","subject":{"attribute":"x"}}`, "definition.subject.op", policy.CodeRequired},
		"attribute, unknown op": {`{"effect":"permit","subject":{"attribute":"x","op":"is","value":1}}`, "definition.subject.op",
			policy.CodeInvalid},
		"attribute, like column": {`{"effect":"permit","subject":{"attribute":"x","op":"like"}}`, "definition.subject.op", policy.CodeInvalid},
		"attribute order of text": {`{"effect":"permit","subject":{"attribute":"x","op":"lt","value":"b"}}`, "definition.subject.op",
			policy.CodeTypeNotSupported},
		"mask on rls": {`{"effect":"permit","subject":{"everyone":true},"mask":"hash"}`, "definition.mask", policy.CodeInvalid},
		"unknown op": {wrap(`{"and":[{"op":"eq","value":"x"},{"op":"equals","value":1}]}`), "definition.condition.and[1].op",
			policy.CodeInvalid},
		"no op":                  {wrap(`{"or":[{"column":"level"}]}`), "definition.condition.or[0].op", policy.CodeRequired},
		"empty and":              {wrap(`{"and":[]}`), "definition.condition.and", policy.CodeInvalid},
		"empty object":           {wrap(`{}`), "definition.condition.op", policy.CodeRequired},
		"two forms":              {wrap(`{"and":[{"op":"is_null"}],"or":[{"op":"is_null"}]}`), "definition.condition", policy.CodeInvalid},
		"form and test":          {wrap(`{"not":{"op":"is_null"},"op":"eq","value":1}`), "definition.condition", policy.CodeInvalid},
		"and of scalars":         {wrap(`{"and":[1]}`), "definition.condition.and[0]", policy.CodeInvalid},
		"no value":               {wrap(`{"not":{"op":"eq"}}`), "definition.condition.not.value", policy.CodeRequired},
		"null value":             {wrap(`{"op":"eq","value":null}`), "definition.condition.value", policy.CodeRequired},
		"value and attribute":    {wrap(`{"op":"eq","value":1,"attribute":"x"}`), "definition.condition", policy.CodeInvalid},
		"is_null with value":     {wrap(`{"op":"is_null","value":1}`), "definition.condition.value", policy.CodeInvalid},
		"is_null with attribute": {wrap(`{"op":"is_null","attribute":"x"}`), "definition.condition.attribute", policy.CodeInvalid},
		"like with attribute":    {wrap(`{"op":"like","attribute":"x"}`), "definition.condition.op", policy.CodeInvalid},
		"like with percent":      {wrap(`{"op":"like","value":"a%"}`), "definition.condition.value", policy.CodeInvalid},
		"like of wildcards": {wrap(`{"op":"like","value":"` + strings.Repeat("a*", 65) + `"}`), "definition.condition.value",
			policy.CodeInvalid},
		"long like": {wrap(`{"op":"like","value":"a*` + strings.Repeat("b", 1000) + `"}`), "definition.condition.value",
			policy.CodeInvalid},
		"like of nothing": {wrap(`{"op":"starts_with","value":""}`), "definition.condition.value", policy.CodeInvalid},
		"list for eq":     {wrap(`{"op":"eq","value":["a"]}`), "definition.condition.value", policy.CodeInvalid},
		"scalar for in":   {wrap(`{"op":"in","value":"a"}`), "definition.condition.value", policy.CodeInvalid},
		"empty list":      {wrap(`{"op":"in","value":[]}`), "definition.condition.value", policy.CodeInvalid},
		"null in list":    {wrap(`{"op":"in","value":["a",null]}`), "definition.condition.value[1]", policy.CodeInvalid},
		"mixed list":      {wrap(`{"op":"in","value":["a",1]}`), "definition.condition.value[1]", policy.CodeInvalid},
		"object value":    {wrap(`{"op":"eq","value":{}}`), "definition.condition.value", policy.CodeInvalid},
		"huge number":     {wrap(`{"op":"eq","column":"level","value":1e999999999}`), "definition.condition.value", policy.CodeInvalid},
		"five digits":     {wrap(`{"op":"eq","column":"amount","value":1.23456}`), "definition.condition.value", policy.CodeInvalid},
		"NUL":             {wrap(`{"op":"eq","value":"a\u0000"}`), "definition.condition.value", policy.CodeInvalid},
		"long text": {wrap(`{"op":"eq","value":"` + strings.Repeat("x", policy.MaxStringBytes+1) + `"}`),
			"definition.condition.value", policy.CodeTooLarge},
		"too deep":               {wrap(nested(policy.MaxDepth + 1)), deepField, policy.CodeTooLarge},
		"absurdly deep":          {wrap(nested(10000)), "definition", policy.CodeTooLarge},
		"too many tests":         {wrap(`{"and":[` + many(40) + `,` + many(25) + `]}`), "definition.condition", policy.CodeTooLarge},
		"too long list of tests": {wrap(many(policy.MaxLeaves + 1)), "definition.condition.or", policy.CodeTooLarge},
		"unknown column":         {wrap(`{"column":"nope","op":"is_null"}`), "definition.condition.column", policy.CodeUnknownColumn},
		"text for integer":       {wrap(`{"column":"level","op":"eq","value":"x"}`), "definition.condition.value", policy.CodeInvalid},
		"number for text":        {wrap(`{"column":"region","op":"eq","value":1}`), "definition.condition.value", policy.CodeInvalid},
		"out of range":           {wrap(`{"column":"tiny","op":"in","value":[1,128]}`), "definition.condition.value[1]", policy.CodeInvalid},
		"fraction for integer":   {wrap(`{"column":"level","op":"eq","value":1.5}`), "definition.condition.value", policy.CodeInvalid},
		"too fine for decimal":   {wrap(`{"column":"amount","op":"eq","value":1.255}`), "definition.condition.value", policy.CodeInvalid},
		"no such day":            {wrap(`{"column":"born","op":"eq","value":"2023-02-29"}`), "definition.condition.value", policy.CodeInvalid},
		"time for date": {wrap(`{"column":"born","op":"eq","value":"2024-02-29T10:00:00Z"}`), "definition.condition.value",
			policy.CodeInvalid},
		"order of text": {wrap(`{"column":"region","op":"lt","value":"b"}`), "definition.condition.op", policy.CodeTypeNotSupported},
		"order of text, attribute": {wrap(`{"column":"region","op":"lt","attribute":"b"}`), "definition.condition.op",
			policy.CodeTypeNotSupported},
		"order of boolean":   {wrap(`{"column":"active","op":"gte","value":true}`), "definition.condition.op", policy.CodeTypeNotSupported},
		"like of integer":    {wrap(`{"column":"level","op":"like","value":"1*"}`), "definition.condition.op", policy.CodeTypeNotSupported},
		"equality of double": {wrap(`{"column":"score","op":"eq","value":1}`), "definition.condition.op", policy.CodeTypeNotSupported},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := policy.Decode([]byte(tc.json))
			if err == nil {
				err = d.Validate(policy.KindRLS, "Region", columns)
			}
			var field *policy.FieldError
			require.ErrorAs(t, err, &field)
			require.Equal(t, tc.field, field.Field, field.Message)
			require.Equal(t, tc.code, field.Code, field.Message)
			require.NotEmpty(t, field.Message)
			require.ErrorIs(t, err, policy.ErrDefinition)
		})
	}
}

func TestColumnKindsTakeNoRows(t *testing.T) {
	everyone := policy.Subject{Everyone: new(true)}
	for name, tc := range map[string]struct {
		kind   policy.Kind
		column string
		def    policy.Definition
		field  string
	}{
		"cls": {policy.KindCLS, "level", policy.Definition{Effect: policy.Permit, Subject: everyone}, ""},
		"mask": {policy.KindMask, "level", policy.Definition{Effect: policy.Permit, Subject: everyone,
			Mask: new(policy.MaskHash)}, ""},
		"kind":           {"row", "level", policy.Definition{Effect: policy.Permit, Subject: everyone}, "kind"},
		"no column":      {policy.KindCLS, "", policy.Definition{Effect: policy.Permit, Subject: everyone}, "columnName"},
		"unknown column": {policy.KindCLS, "nope", policy.Definition{Effect: policy.Permit, Subject: everyone}, "columnName"},
		"condition": {policy.KindCLS, "level", policy.Definition{Effect: policy.Permit, Subject: everyone,
			Condition: &policy.Condition{Op: policy.OpIsNull}}, "definition.condition"},
		"wrong mask": {policy.KindMask, "level", policy.Definition{Effect: policy.Permit, Subject: everyone, Mask: new("first2")},
			"definition.mask"},
		"mask on cls": {policy.KindCLS, "level", policy.Definition{Effect: policy.Permit, Subject: everyone, Mask: new("hash")},
			"definition.mask"},
		"row filter on a mask": {policy.KindMask, "level", policy.Definition{Effect: policy.Permit,
			Subject: policy.Subject{Attribute: new("a"), Op: new(policy.OpEq)}}, "definition.subject.value"},
		"test without column": {policy.KindRLS, "", policy.Definition{Effect: policy.Permit, Subject: everyone,
			Condition: &policy.Condition{Op: policy.OpIsNull}}, "columnName"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.def.Validate(tc.kind, tc.column, columns)
			if tc.field == "" {
				require.NoError(t, err)
				text, err := policy.Render(tc.def, tc.column, tc.kind, columns)
				require.NoError(t, err)
				_, err = policy.Parse(text)
				require.NoError(t, err)
				return
			}
			var field *policy.FieldError
			require.ErrorAs(t, err, &field)
			require.Equal(t, tc.field, field.Field)
		})
	}
}

func TestDecodeKeepsEveryForm(t *testing.T) {
	const text = `{
		"effect": "forbid",
		"subject": {"everyone": null, "role": null, "attribute": "level", "op": "gte", "value": 1e2},
		"condition": {"and": [
			{"op": "eq", "value": "EU"},
			{"or": [{"column": "level", "op": "in", "value": [1, 2.0]}, {"not": {"column": "active", "op": "eq", "value": true}}]},
			{"column": "amount", "op": "lt", "attribute": "cap"}
		]},
		"mask": null
	}`
	var got policy.Definition
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	want := policy.Definition{
		Effect:  policy.Forbid,
		Subject: policy.Subject{Attribute: new("level"), Op: new(policy.OpGte), Value: json.Number("100")},
		Condition: &policy.Condition{And: []policy.Condition{
			{Op: policy.OpEq, Value: "EU"},
			{Or: []policy.Condition{
				{Column: new("level"), Op: policy.OpIn, Value: []any{json.Number("1"), json.Number("2")}},
				{Not: &policy.Condition{Column: new("active"), Op: policy.OpEq, Value: true}},
			}},
			{Column: new("amount"), Op: policy.OpLt, Attribute: new("cap")},
		}},
	}
	require.Empty(t, cmp.Diff(want, got))
	// Stored and read again it is the same.
	raw, err := json.Marshal(got)
	require.NoError(t, err)
	again, err := policy.Decode(raw)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, again))
}

func TestLimitsAreReached(t *testing.T) {
	list := make([]string, policy.MaxLeaves)
	for i := range list {
		list[i] = fmt.Sprintf(`{"column":"level","op":"eq","value":%d}`, i)
	}
	for _, effect := range []string{"permit", "forbid"} {
		text := `{"effect":"` + effect + `","subject":{"attribute":"x","op":"eq","value":"y"},"condition":{"or":[` + strings.Join(list, ",") +
			`]}}`
		d, err := policy.Decode([]byte(text))
		require.NoError(t, err)
		cedar, err := policy.Render(d, "level", policy.KindRLS, columns)
		require.NoError(t, err)
		_, err = policy.Parse(cedar)
		require.NoError(t, err, "a definition within its limits makes a text within its limits")
	}
	deep, err := policy.Decode([]byte(wrap(strings.Repeat(`{"and":[{"op":"is_null"},`, 7) + `{"op":"is_null"}` + strings.Repeat("]}", 7))))
	require.NoError(t, err)
	require.NoError(t, deep.Validate(policy.KindRLS, "level", columns))
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(wrap(`{"and":[{"op":"eq","value":1.5e3},{"not":{"column":"x","op":"in","attribute":"y"}}]}`)))
	f.Add([]byte(`{"effect":"forbid","subject":{"role":"a"},"condition":null,"mask":"hash"}`))
	f.Add([]byte(`{"a":[[[[[{}]]]]]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := policy.Decode(raw)
		if err != nil {
			require.True(t, errors.Is(err, policy.ErrDefinition))
			return
		}
		text, err := policy.Render(d, "level", policy.KindRLS, nil)
		if err != nil {
			require.True(t, errors.Is(err, policy.ErrDefinition))
			return
		}
		_, err = policy.Parse(text)
		require.NoError(t, err, text)
	})
}
