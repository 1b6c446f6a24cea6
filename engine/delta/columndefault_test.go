package delta_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

func TestDefaultIsColumnMetadata(t *testing.T) {
	wide := wideTable(t, nil)
	before := wide.Protocol()
	require.NotContains(t, before.WriterFeatures, "allowColumnDefaults")
	a := wide.Alter()
	require.NoError(t, a.AddColumn(nil, delta.Field{Name: "fresh", Type: delta.Long, Nullable: true}))
	require.NoError(t, a.SetDefault("FRESH", "CAST('7' AS BIGINT)"))
	require.ErrorIs(t, a.SetDefault("none", "1"), delta.ErrInvalidSchema)
	c, err := a.Change()
	require.NoError(t, err)
	require.Contains(t, c.Metadata.SchemaString, `"CURRENT_DEFAULT":"CAST('7' AS BIGINT)"`)
	require.NotContains(t, c.Metadata.SchemaString, "EXISTS_DEFAULT")
	f, ok := a.Schema().Field("fresh")
	require.True(t, ok)
	text, has, err := f.Default()
	require.NoError(t, err)
	require.True(t, has)
	require.Equal(t, "CAST('7' AS BIGINT)", text)

	// The features that the old versions implied are listed with the new one.
	require.NotNil(t, c.Protocol)
	require.Equal(t, 7, c.Protocol.MinWriterVersion)
	require.Equal(t, before.MinReaderVersion, c.Protocol.MinReaderVersion, "readers need nothing new")
	require.Contains(t, c.Protocol.WriterFeatures, "allowColumnDefaults")
	withDefault := delta.Struct{Fields: []delta.Field{delta.Field{Name: "id", Type: delta.Long, Nullable: true}.WithDefault("1")}}
	plain := mustCreate(t, mem.New(), delta.CreateOptions{Schema: withDefault})
	require.Equal(t, []string{"allowColumnDefaults", "appendOnly", "invariants"}, plain.Protocol().WriterFeatures)
	old, changed := tableWith(t, versions(1, 4), "", "").ProtocolFor(withDefault, nil)
	require.True(t, changed)
	require.Equal(t, []string{"allowColumnDefaults", "appendOnly", "changeDataFeed", "checkConstraints", "generatedColumns", "invariants"},
		old.WriterFeatures)
	require.Nil(t, old.ReaderFeatures)

	// The default follows a new column name, and a name in its text is not a column.
	require.NoError(t, a.SetDefault("fresh", "DATE '2024-01-01'"))
	require.NoError(t, a.AddColumn(nil, delta.Field{Name: "date", Type: delta.Date, Nullable: true}))
	require.NoError(t, a.RenameColumn([]string{"date"}, "day"))
	require.NoError(t, a.RenameColumn([]string{"fresh"}, "newer"))
	f, _ = a.Schema().Field("newer")
	text, _, _ = f.Default()
	require.Equal(t, "DATE '2024-01-01'", text)
	require.NoError(t, a.DropDefault("newer"))
	f, _ = a.Schema().Field("newer")
	_, has, _ = f.Default()
	require.False(t, has)

	f.Metadata = map[string]json.RawMessage{"CURRENT_DEFAULT": json.RawMessage("1")}
	_, has, err = f.Default()
	require.True(t, has)
	require.ErrorIs(t, err, delta.ErrInvalidSchema)
	require.Equal(t, "newer", delta.DefaultBelow(delta.Array{Element: delta.Struct{Fields: []delta.Field{f}}}))
	require.Empty(t, delta.DefaultBelow(delta.Long))
}
