package delta_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// columnsOfAllKinds has the names, types and partition column that properties refer to.
var columnsOfAllKinds = delta.Struct{Fields: []delta.Field{
	{Name: "id", Type: delta.Long, Nullable: true},
	{Name: "odd name", Type: delta.String, Nullable: true},
	{Name: "st", Type: delta.Struct{Fields: []delta.Field{{Name: "x", Type: delta.Long, Nullable: true}}}, Nullable: true},
	{Name: "ok", Type: delta.Boolean, Nullable: true},
	{Name: "list", Type: delta.Array{Element: delta.Long, ContainsNull: true}, Nullable: true},
	{Name: "p", Type: delta.Long, Nullable: true},
}}

// TestUnsupportedPropertiesAreRefused sets properties, at creation and afterwards, that
// would make the table unwritable for other writers or that this engine does not
// implement.
func TestUnsupportedPropertiesAreRefused(t *testing.T) {
	for name, values := range map[string][]string{
		"delta.universalFormat.enabledFormats":              {"iceberg", "hudi"},
		"delta.inCommitTimestampEnablementVersion":          {"0"},
		"delta.inCommitTimestampEnablementTimestamp":        {"0"},
		"delta.requireCheckpointProtectionBeforeVersion":    {"3"},
		"delta.columnMapping.maxColumnId":                   {"5"},
		"delta.rowTrackingSuspended":                        {"true"},
		"delta.rowTracking.materializedRowIdColumnName":     {"x"},
		"delta.parquet.compression.codec":                   {"foo", "", "lzo", "brotli"},
		"delta.targetFileSize":                              {"foo", "", "0", "-1", "1.5gb", "99999999999999999999"},
		"delta.compatibility.symlinkFormatManifest.enabled": {"true"},
		"delta.autoOptimize.autoCompact":                    {"foo"},
		"delta.isolationLevel":                              {"serializable"},
		"delta.dataSkippingStatsColumns": {
			"nope", "id,nope", "id.x", "st.y", "ok", "list", "list.element", "p", "id,ID", "st,st.x", "st.x,st", "id,", ",id", ".id", "`id",
			"odd name", "a-b", " ",
		},
		"delta.unheardOf": {"1"},
	} {
		for _, value := range values {
			properties := map[string]string{name: value, "mine": "x", "delta.appendOnly": "TRUE"}
			create := delta.CreateOptions{Schema: columnsOfAllKinds, PartitionColumns: []string{"p"}, Options: testOptions(t)}
			create.Properties = maps.Clone(properties)
			create.Properties["delta.columnMapping.mode"] = "name"
			requireRefused(t, create.Validate(), name, value)
			_, err := delta.Create(t.Context(), mem.New(), create)
			requireRefused(t, err, name, value)

			create.Properties = map[string]string{"delta.columnMapping.mode": "name"}
			snap, err := delta.Create(t.Context(), mem.New(), create)
			require.NoError(t, err)
			requireRefused(t, snap.Alter().SetProperties(properties), name, value)
		}
	}
}

// requireRefused checks that a PropertyError names only the property.
func requireRefused(t *testing.T, err error, name, value string) {
	t.Helper()
	require.ErrorIs(t, err, delta.ErrInvalidProperty, "%s=%s", name, value)
	var refused *delta.PropertyError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, []string{name}, slices.Collect(maps.Keys(refused.Reasons)))
	require.NotEmpty(t, refused.Reasons[name])
}

func TestSupportedPropertiesAreSet(t *testing.T) {
	for name, values := range map[string][]string{
		"delta.universalFormat.enabledFormats":              {""},
		"delta.parquet.compression.codec":                   {"zstd", "SNAPPY", "gzip", "lz4", "LZ4_RAW", "lz4raw", "none", "uncompressed"},
		"delta.targetFileSize":                              {"1", "128mb", "128 MB", " 1g ", "104857600", "2t"},
		"delta.compatibility.symlinkFormatManifest.enabled": {"false"},
		"delta.isolationLevel":                              {"Serializable", "WriteSerializable", "SnapshotIsolation"},
		"delta.dataSkippingStatsColumns":                    {"", "ID", " id , st", "`odd name`,st.X", "`st`.`x`,`id`"},
		"delta.autoOptimize.optimizeWrite":                  {"true"},
		"delta.randomizeFilePrefixes":                       {"False"},
	} {
		for _, value := range values {
			create := delta.CreateOptions{Schema: columnsOfAllKinds, PartitionColumns: []string{"p"}, Options: testOptions(t)}
			create.Properties = map[string]string{"delta.columnMapping.mode": "name"}
			snap, err := delta.Create(t.Context(), mem.New(), create)
			require.NoError(t, err)
			require.NoError(t, snap.Alter().SetProperties(map[string]string{name: value}), "%s=%s", name, value)
			create.Properties[name] = value
			_, err = delta.Create(t.Context(), mem.New(), create)
			require.NoError(t, err, "%s=%s", name, value)
		}
	}
}

// TestForeignPropertiesAreLeftAlone checks that properties set by other writers are
// preserved, do not prevent other changes, and can be removed unless writers maintain
// them.
func TestForeignPropertiesAreLeftAlone(t *testing.T) {
	b := mem.New()
	mustLog(t, b, `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`+"\n"+
		metaLine("a", `{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"}]}`, "",
			`"delta.parquet.compression.codec":"brotli","delta.targetFileSize":"big","delta.dataSkippingStatsColumns":"nope",`+
				`"delta.requireCheckpointProtectionBeforeVersion":"3"`))
	snap, err := delta.Load(t.Context(), b, testOptions(t))
	require.NoError(t, err)
	require.NoError(t, delta.CheckWritable(snap))
	_, ok := snap.Codec()
	require.False(t, ok)
	_, ok = snap.TargetFileSize()
	require.False(t, ok)

	a := snap.Alter()
	require.NoError(t, a.SetProperties(map[string]string{"delta.appendOnly": "true", "delta.parquet.compression.codec": "brotli"}))
	require.NoError(t, a.UnsetProperties("delta.dataSkippingStatsColumns"))
	requireRefused(t, a.UnsetProperties("delta.requireCheckpointProtectionBeforeVersion"), "delta.requireCheckpointProtectionBeforeVersion",
		"")
	require.Equal(t, map[string]string{
		"delta.parquet.compression.codec": "brotli", "delta.targetFileSize": "big", "delta.requireCheckpointProtectionBeforeVersion": "3",
		"delta.appendOnly": "true",
	}, a.Properties())
}
