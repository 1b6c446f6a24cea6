package rowfilter_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/rowfilter"
)

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
	deepField := "definition.condition" + strings.Repeat(".not", rowfilter.MaxDepth)
	for name, tc := range map[string]struct{ json, field, code string }{
		"not json":                 {`{"effect":`, "definition", rowfilter.CodeInvalid},
		"trailing":                 {`{} {}`, "definition", rowfilter.CodeInvalid},
		"not an object":            {`[]`, "definition", rowfilter.CodeInvalid},
		"null":                     {`null`, "definition", rowfilter.CodeInvalid},
		"unknown member":           {`{"efect":"permit"}`, "definition.efect", rowfilter.CodeUnknownField},
		"member twice":             {`{"effect":"permit","effect":"forbid"}`, "definition.effect", rowfilter.CodeInvalid},
		"no effect":                {`{"subject":{"everyone":true}}`, "definition.effect", rowfilter.CodeRequired},
		"wrong effect":             {`{"effect":"allow","subject":{"everyone":true}}`, "definition.effect", rowfilter.CodeInvalid},
		"effect not a string":      {`{"effect":1}`, "definition.effect", rowfilter.CodeInvalid},
		"no subject":               {`{"effect":"permit"}`, "definition.subject", rowfilter.CodeRequired},
		"everyone false":           {`{"effect":"permit","subject":{"everyone":false}}`, "definition.subject", rowfilter.CodeRequired},
		"everyone not a boolean":   {`{"effect":"permit","subject":{"everyone":"yes"}}`, "definition.subject.everyone", rowfilter.CodeInvalid},
		"two subjects":             {`{"effect":"permit","subject":{"everyone":true,"role":"x"}}`, "definition.subject", rowfilter.CodeInvalid},
		"empty role":               {`{"effect":"permit","subject":{"role":""}}`, "definition.subject.role", rowfilter.CodeInvalid},
		"role with value":          {`{"effect":"permit","subject":{"role":"x","value":1}}`, "definition.subject.value", rowfilter.CodeInvalid},
		"role with op":             {`{"effect":"permit","subject":{"role":"x","op":"eq"}}`, "definition.subject.op", rowfilter.CodeInvalid},
		"attribute without op":     {`{"effect":"permit","subject":{"attribute":"x"}}`, "definition.subject.op", rowfilter.CodeRequired},
		"attribute, unknown op":    {`{"effect":"permit","subject":{"attribute":"x","op":"is","value":1}}`, "definition.subject.op", rowfilter.CodeInvalid},
		"attribute, like column":   {`{"effect":"permit","subject":{"attribute":"x","op":"like"}}`, "definition.subject.op", rowfilter.CodeInvalid},
		"attribute order of text":  {`{"effect":"permit","subject":{"attribute":"x","op":"lt","value":"b"}}`, "definition.subject.op", rowfilter.CodeTypeNotSupported},
		"mask on rls":              {`{"effect":"permit","subject":{"everyone":true},"mask":"hash"}`, "definition.mask", rowfilter.CodeInvalid},
		"unknown op":               {wrap(`{"and":[{"op":"eq","value":"x"},{"op":"equals","value":1}]}`), "definition.condition.and[1].op", rowfilter.CodeInvalid},
		"no op":                    {wrap(`{"or":[{"column":"level"}]}`), "definition.condition.or[0].op", rowfilter.CodeRequired},
		"empty and":                {wrap(`{"and":[]}`), "definition.condition.and", rowfilter.CodeInvalid},
		"empty object":             {wrap(`{}`), "definition.condition.op", rowfilter.CodeRequired},
		"two forms":                {wrap(`{"and":[{"op":"is_null"}],"or":[{"op":"is_null"}]}`), "definition.condition", rowfilter.CodeInvalid},
		"form and test":            {wrap(`{"not":{"op":"is_null"},"op":"eq","value":1}`), "definition.condition", rowfilter.CodeInvalid},
		"and of scalars":           {wrap(`{"and":[1]}`), "definition.condition.and[0]", rowfilter.CodeInvalid},
		"no value":                 {wrap(`{"not":{"op":"eq"}}`), "definition.condition.not.value", rowfilter.CodeRequired},
		"null value":               {wrap(`{"op":"eq","value":null}`), "definition.condition.value", rowfilter.CodeRequired},
		"value and attribute":      {wrap(`{"op":"eq","value":1,"attribute":"x"}`), "definition.condition", rowfilter.CodeInvalid},
		"is_null with value":       {wrap(`{"op":"is_null","value":1}`), "definition.condition.value", rowfilter.CodeInvalid},
		"is_null with attribute":   {wrap(`{"op":"is_null","attribute":"x"}`), "definition.condition.attribute", rowfilter.CodeInvalid},
		"like with attribute":      {wrap(`{"op":"like","attribute":"x"}`), "definition.condition.op", rowfilter.CodeInvalid},
		"like with percent":        {wrap(`{"op":"like","value":"a%"}`), "definition.condition.value", rowfilter.CodeInvalid},
		"like of wildcards":        {wrap(`{"op":"like","value":"` + strings.Repeat("a*", 65) + `"}`), "definition.condition.value", rowfilter.CodeInvalid},
		"long like":                {wrap(`{"op":"like","value":"a*` + strings.Repeat("b", 1000) + `"}`), "definition.condition.value", rowfilter.CodeInvalid},
		"like of nothing":          {wrap(`{"op":"starts_with","value":""}`), "definition.condition.value", rowfilter.CodeInvalid},
		"list for eq":              {wrap(`{"op":"eq","value":["a"]}`), "definition.condition.value", rowfilter.CodeInvalid},
		"scalar for in":            {wrap(`{"op":"in","value":"a"}`), "definition.condition.value", rowfilter.CodeInvalid},
		"empty list":               {wrap(`{"op":"in","value":[]}`), "definition.condition.value", rowfilter.CodeInvalid},
		"null in list":             {wrap(`{"op":"in","value":["a",null]}`), "definition.condition.value[1]", rowfilter.CodeInvalid},
		"mixed list":               {wrap(`{"op":"in","value":["a",1]}`), "definition.condition.value[1]", rowfilter.CodeInvalid},
		"object value":             {wrap(`{"op":"eq","value":{}}`), "definition.condition.value", rowfilter.CodeInvalid},
		"huge number":              {wrap(`{"op":"eq","column":"level","value":1e999999999}`), "definition.condition.value", rowfilter.CodeInvalid},
		"five digits":              {wrap(`{"op":"eq","column":"amount","value":1.23456}`), "definition.condition.value", rowfilter.CodeInvalid},
		"NUL":                      {wrap(`{"op":"eq","value":"a\u0000"}`), "definition.condition.value", rowfilter.CodeInvalid},
		"long text":                {wrap(`{"op":"eq","value":"` + strings.Repeat("x", rowfilter.MaxStringBytes+1) + `"}`), "definition.condition.value", rowfilter.CodeTooLarge},
		"too deep":                 {wrap(nested(rowfilter.MaxDepth + 1)), deepField, rowfilter.CodeTooLarge},
		"absurdly deep":            {wrap(nested(10000)), "definition", rowfilter.CodeTooLarge},
		"too many tests":           {wrap(`{"and":[` + many(40) + `,` + many(25) + `]}`), "definition.condition", rowfilter.CodeTooLarge},
		"too long list of tests":   {wrap(many(rowfilter.MaxLeaves + 1)), "definition.condition.or", rowfilter.CodeTooLarge},
		"unknown column":           {wrap(`{"column":"nope","op":"is_null"}`), "definition.condition.column", rowfilter.CodeUnknownColumn},
		"text for integer":         {wrap(`{"column":"level","op":"eq","value":"x"}`), "definition.condition.value", rowfilter.CodeInvalid},
		"number for text":          {wrap(`{"column":"region","op":"eq","value":1}`), "definition.condition.value", rowfilter.CodeInvalid},
		"out of range":             {wrap(`{"column":"tiny","op":"in","value":[1,128]}`), "definition.condition.value[1]", rowfilter.CodeInvalid},
		"fraction for integer":     {wrap(`{"column":"level","op":"eq","value":1.5}`), "definition.condition.value", rowfilter.CodeInvalid},
		"too fine for decimal":     {wrap(`{"column":"amount","op":"eq","value":1.255}`), "definition.condition.value", rowfilter.CodeInvalid},
		"no such day":              {wrap(`{"column":"born","op":"eq","value":"2023-02-29"}`), "definition.condition.value", rowfilter.CodeInvalid},
		"time for date":            {wrap(`{"column":"born","op":"eq","value":"2024-02-29T10:00:00Z"}`), "definition.condition.value", rowfilter.CodeInvalid},
		"order of text":            {wrap(`{"column":"region","op":"lt","value":"b"}`), "definition.condition.op", rowfilter.CodeTypeNotSupported},
		"order of text, attribute": {wrap(`{"column":"region","op":"lt","attribute":"b"}`), "definition.condition.op", rowfilter.CodeTypeNotSupported},
		"order of boolean":         {wrap(`{"column":"active","op":"gte","value":true}`), "definition.condition.op", rowfilter.CodeTypeNotSupported},
		"like of integer":          {wrap(`{"column":"level","op":"like","value":"1*"}`), "definition.condition.op", rowfilter.CodeTypeNotSupported},
		"equality of double":       {wrap(`{"column":"score","op":"eq","value":1}`), "definition.condition.op", rowfilter.CodeTypeNotSupported},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := rowfilter.Decode([]byte(tc.json))
			if err == nil {
				err = d.Validate(rowfilter.KindRLS, "Region", columns)
			}
			var field *rowfilter.FieldError
			require.ErrorAs(t, err, &field)
			require.Equal(t, tc.field, field.Field, field.Message)
			require.Equal(t, tc.code, field.Code, field.Message)
			require.NotEmpty(t, field.Message)
			require.ErrorIs(t, err, rowfilter.ErrDefinition)
		})
	}
}

func TestColumnKindsTakeNoRows(t *testing.T) {
	everyone := rowfilter.Subject{Everyone: ptr(true)}
	for name, tc := range map[string]struct {
		kind   rowfilter.Kind
		column string
		def    rowfilter.Definition
		field  string
	}{
		"cls":                  {rowfilter.KindCLS, "level", rowfilter.Definition{Effect: rowfilter.Permit, Subject: everyone}, ""},
		"mask":                 {rowfilter.KindMask, "level", rowfilter.Definition{Effect: rowfilter.Permit, Subject: everyone, Mask: ptr(rowfilter.MaskHash)}, ""},
		"kind":                 {"row", "level", rowfilter.Definition{Effect: rowfilter.Permit, Subject: everyone}, "kind"},
		"no column":            {rowfilter.KindCLS, "", rowfilter.Definition{Effect: rowfilter.Permit, Subject: everyone}, "columnName"},
		"unknown column":       {rowfilter.KindCLS, "nope", rowfilter.Definition{Effect: rowfilter.Permit, Subject: everyone}, "columnName"},
		"condition":            {rowfilter.KindCLS, "level", rowfilter.Definition{Effect: rowfilter.Permit, Subject: everyone, Condition: &rowfilter.Condition{Op: rowfilter.OpIsNull}}, "definition.condition"},
		"wrong mask":           {rowfilter.KindMask, "level", rowfilter.Definition{Effect: rowfilter.Permit, Subject: everyone, Mask: ptr("first2")}, "definition.mask"},
		"mask on cls":          {rowfilter.KindCLS, "level", rowfilter.Definition{Effect: rowfilter.Permit, Subject: everyone, Mask: ptr("hash")}, "definition.mask"},
		"row filter on a mask": {rowfilter.KindMask, "level", rowfilter.Definition{Effect: rowfilter.Permit, Subject: rowfilter.Subject{Attribute: ptr("a"), Op: ptr(rowfilter.OpEq)}}, "definition.subject.value"},
		"test without column":  {rowfilter.KindRLS, "", rowfilter.Definition{Effect: rowfilter.Permit, Subject: everyone, Condition: &rowfilter.Condition{Op: rowfilter.OpIsNull}}, "columnName"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.def.Validate(tc.kind, tc.column, columns)
			if tc.field == "" {
				require.NoError(t, err)
				text, err := rowfilter.Render(tc.def, tc.column, tc.kind, columns)
				require.NoError(t, err)
				_, err = rowfilter.Parse(text)
				require.NoError(t, err)
				return
			}
			var field *rowfilter.FieldError
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
	var got rowfilter.Definition
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	want := rowfilter.Definition{
		Effect:  rowfilter.Forbid,
		Subject: rowfilter.Subject{Attribute: ptr("level"), Op: ptr(rowfilter.OpGte), Value: json.Number("100")},
		Condition: &rowfilter.Condition{And: []rowfilter.Condition{
			{Op: rowfilter.OpEq, Value: "EU"},
			{Or: []rowfilter.Condition{
				{Column: ptr("level"), Op: rowfilter.OpIn, Value: []any{json.Number("1"), json.Number("2")}},
				{Not: &rowfilter.Condition{Column: ptr("active"), Op: rowfilter.OpEq, Value: true}},
			}},
			{Column: ptr("amount"), Op: rowfilter.OpLt, Attribute: ptr("cap")},
		}},
	}
	require.Empty(t, cmp.Diff(want, got))
	// Stored and read again it is the same.
	raw, err := json.Marshal(got)
	require.NoError(t, err)
	again, err := rowfilter.Decode(raw)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, again))
}

func TestLimitsAreReached(t *testing.T) {
	list := make([]string, rowfilter.MaxLeaves)
	for i := range list {
		list[i] = fmt.Sprintf(`{"column":"level","op":"eq","value":%d}`, i)
	}
	for _, effect := range []string{"permit", "forbid"} {
		text := `{"effect":"` + effect + `","subject":{"attribute":"x","op":"eq","value":"y"},"condition":{"or":[` + strings.Join(list, ",") + `]}}`
		d, err := rowfilter.Decode([]byte(text))
		require.NoError(t, err)
		cedar, err := rowfilter.Render(d, "level", rowfilter.KindRLS, columns)
		require.NoError(t, err)
		_, err = rowfilter.Parse(cedar)
		require.NoError(t, err, "a definition within its limits makes a text within its limits")
	}
	deep, err := rowfilter.Decode([]byte(wrap(strings.Repeat(`{"and":[{"op":"is_null"},`, 7) + `{"op":"is_null"}` + strings.Repeat("]}", 7))))
	require.NoError(t, err)
	require.NoError(t, deep.Validate(rowfilter.KindRLS, "level", columns))
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(wrap(`{"and":[{"op":"eq","value":1.5e3},{"not":{"column":"x","op":"in","attribute":"y"}}]}`)))
	f.Add([]byte(`{"effect":"forbid","subject":{"role":"a"},"condition":null,"mask":"hash"}`))
	f.Add([]byte(`{"a":[[[[[{}]]]]]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := rowfilter.Decode(raw)
		if err != nil {
			require.True(t, errors.Is(err, rowfilter.ErrDefinition))
			return
		}
		text, err := rowfilter.Render(d, "level", rowfilter.KindRLS, nil)
		if err != nil {
			require.True(t, errors.Is(err, rowfilter.ErrDefinition))
			return
		}
		_, err = rowfilter.Parse(text)
		require.NoError(t, err, text)
	})
}

// Whatever a valid definition renders is read again, and derives a definition
// that shows the same rows.
func TestRenderedTextsDeriveTheirMeaning(t *testing.T) {
	all := rows()
	db := openRows(t, all)
	derived, total := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		defs, w := scenario(rt)
		// Subjects on attributes and rows mix in ways that only some texts
		// can be told apart again.
		for i, d := range defs {
			cols := columns
			text, err := rowfilter.Render(d.def, d.column, rowfilter.KindRLS, cols)
			if err != nil {
				cols = nil
				text, err = rowfilter.Render(d.def, d.column, rowfilter.KindRLS, nil)
				require.NoError(rt, err)
			}
			parsed, err := rowfilter.Parse(text)
			require.NoError(rt, err, text)
			total++
			back, ok := rowfilter.Derive(parsed, rowfilter.KindRLS, cols)
			if !ok {
				continue
			}
			derived++
			before, _, err := compileAll([]bound{d}, w, cols != nil)
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
