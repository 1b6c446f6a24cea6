package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// TestColumnsAreRead: a column has the same name, type and nullability after it was stored
// or sent, and the stored form holds its type as text.
func TestColumnsAreRead(t *testing.T) {
	for _, text := range []string{"BIGINT", "DECIMAL(4,2)", "VARCHAR[]", `STRUCT(a BIGINT, "b c" MAP(VARCHAR, DATE))`} {
		column := engine.Column{Name: "a \"b\"", Type: sqltype.MustParse(text), Nullable: true}
		stored, err := json.Marshal(column)
		require.NoError(t, err)
		var form map[string]any
		require.NoError(t, json.Unmarshal(stored, &form))
		require.Equal(t, map[string]any{"Name": column.Name, "Type": text, "Nullable": true}, form)
		var read engine.Column
		require.NoError(t, json.Unmarshal(stored, &read))
		require.True(t, column.Equal(read), text)

		sent, err := column.MarshalBinary()
		require.NoError(t, err)
		read = engine.Column{}
		require.NoError(t, read.UnmarshalBinary(sent))
		require.True(t, column.Equal(read), text)
	}
	require.Error(t, json.Unmarshal([]byte(`{"Name":"a","Type":""}`), new(engine.Column)))
}
