package sqltree

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// FuzzDecode holds the reader of trees against encoding/json: what it takes is
// JSON of the same content, and it never panics.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1}`, `{"a":[1,-2.5e3,"x",true,false,null,{"b":[]}]}`, ` { "a" : "\\u00e9\\n\\"" } `, `{"a":1,"a":2}`, `{"a":01}`,
		`{"a":18446744073709551615}`, `{"a":"x`, `{"a":1}}`, `[1]`, `{"a":nul}`, `{"a":1,}`, `{"a":"01","b":01}`, `{"a":--1}`, `{"a":"\\ud800"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, lean := range []bool{false, true} {
			n, err := Decode(text, 100, lean)
			if err != nil {
				continue
			}
			var want map[string]any
			require.NoError(t, json.Unmarshal(text, &want), "%s", text)
			require.True(t, len(n.keys) > 60 || Matches(text, n), "%s", text)
			if lean {
				continue
			}
			var got map[string]any
			require.NoError(t, json.Unmarshal(Encode(nil, n), &got))
			require.Empty(t, cmp.Diff(withoutNulls(want), withoutNulls(got)))
		}
	})
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if x == nil {
				delete(v, k)
			} else {
				v[k] = withoutNulls(x)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}

// TestVerifySeesEveryChange: a tree in which any one value changed is no longer
// equal.
func TestVerifySeesEveryChange(t *testing.T) {
	const text = `{"type":"SET_OPERATION_NODE","setop_all":false,"left":{"n":1,"s":"x","b":true,"list":[1,2],"e":[]},"right":{"value":"","is_null":false}}`
	base, err := Decode([]byte(text), 100, false)
	require.NoError(t, err)
	for _, change := range []string{
		`{"type":"SET_OPERATION_NODE","setop_all":true,"left":{"n":1,"s":"x","b":true,"list":[1,2]},"right":{"value":""}}`,
		`{"type":"SET_OPERATION_NODE","left":{"n":1,"s":"x","b":true,"list":[1,2]},"right":{"value":""}}`,
		`{"type":"SET_OPERATION_NODE","setop_all":false,"left":{"n":2,"s":"x","b":true,"list":[1,2]},"right":{"value":""}}`,
		`{"type":"SET_OPERATION_NODE","setop_all":false,"left":{"n":1,"s":"y","b":true,"list":[1,2]},"right":{"value":""}}`,
		`{"type":"SET_OPERATION_NODE","setop_all":false,"left":{"n":1,"s":"x","b":false,"list":[1,2]},"right":{"value":""}}`,
		`{"type":"SET_OPERATION_NODE","setop_all":false,"left":{"n":1,"s":"x","list":[1,2]},"right":{"value":""}}`,
		`{"type":"SET_OPERATION_NODE","setop_all":false,"left":{"n":1,"s":"x","b":true,"list":[2,1]},"right":{"value":""}}`,
		`{"type":"SET_OPERATION_NODE","setop_all":false,"left":{"n":1,"s":"x","b":true,"list":[1]},"right":{"value":""}}`,
		`{"type":"SET_OPERATION_NODE","setop_all":false,"left":{"n":1,"s":"x","b":true,"list":[1,2],"more":1},"right":{"value":""}}`,
		`{"type":"SET_OPERATION_NODE","setop_all":false,"left":{"n":1,"s":"x","b":true,"list":[1,2],"e":[0]},"right":{"value":""}}`,
		`{"type":"SET_OPERATION_NODE","setop_all":false,"left":{"n":1,"s":"x","b":true,"list":[1,2]},"right":{"value":"","is_null":true}}`,
		`{"type":"SELECT_NODE","setop_all":false,"left":{"n":1,"s":"x","b":true,"list":[1,2]},"right":{"value":""}}`,
	} {
		for _, lean := range []bool{false, true} {
			other, err := Decode([]byte(change), 100, lean)
			require.NoError(t, err)
			require.False(t, Equal(base, other), change)
			require.False(t, Equal(other, base), change)
			require.False(t, Matches([]byte(change), base), change)
		}
	}
	same, err := Decode([]byte(text), 100, true)
	require.NoError(t, err)
	require.True(t, Equal(base, same))
	require.True(t, Matches([]byte(text), base))
	require.True(t, Matches([]byte(text), same))
	require.False(t, Matches([]byte(text+"x"), base))
}
