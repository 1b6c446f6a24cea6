package delta_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

func quoted(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return `"` + strings.Join(list, `","`) + `"`
}

func TestFeatureGate(t *testing.T) {
	rows := []struct {
		name         string
		reader       []string // reader features; nil means reader version 1
		writer       []string
		properties   string
		partitions   string
		field        string // further members of a second column
		read, write  string // the feature that is refused
		duties       []delta.Duty
		versions     string
		formatChange string
	}{
		{name: "plain"},
		{name: "all that is readable", reader: []string{"columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "v2Checkpoint",
			"vacuumProtocolCheck", "variantType"}},
		{name: "unknown reader feature", reader: []string{"novelty"}, read: "novelty"},
		{name: "unknown writer feature", writer: []string{"novelty"}, write: "novelty"},
		{name: "reader version", versions: `"minReaderVersion":4,"minWriterVersion":7`, read: "reader version above 3"},
		{name: "writer version", versions: `"minReaderVersion":1,"minWriterVersion":8`, write: "writer version above 7"},
		{name: "catalog managed", reader: []string{"catalogManaged"}, writer: []string{"catalogManaged"}, read: "catalogManaged"},
		{name: "catalog managed, writer list only", writer: []string{"catalogManaged"}, read: "catalogManaged"},
		{name: "row tracking", writer: []string{"rowTracking", "domainMetadata"}},
		{name: "row tracking, enabled", writer: []string{"rowTracking", "domainMetadata"}, properties: `"delta.enableRowTracking":"true"`},
		{name: "iceberg", writer: []string{"icebergCompatV2"}, write: "icebergCompatV2"},
		{name: "format", formatChange: "orc", read: "format orc"},
		{name: "mapped, a column without name in files", reader: []string{"columnMapping"}, properties: `"delta.columnMapping.mode":"name"`,
			write: "columnMapping"},
		{name: "mapped and partitioned, the same", reader: []string{"columnMapping"}, properties: `"delta.columnMapping.mode":"id"`,
			partitions: `"id"`, read: "columnMapping with partition columns", write: "columnMapping"},
		{name: "mapped, not listed", properties: `"delta.columnMapping.mode":"name"`, write: "columnMapping"},
		{name: "unknown mode of mapping", reader: []string{"columnMapping"}, properties: `"delta.columnMapping.mode":"both"`,
			write: "columnMapping"},
		{name: "mapping listed, not active", reader: []string{"columnMapping"}, properties: `"delta.columnMapping.mode":"none"`,
			partitions: `"id"`},
		{name: "void", field: `"type":"void"`},
		{name: "void and nothing in files", field: `"type":"void"`, partitions: `"id"`, read: "void columns"},
		{name: "void member", field: `"type":{"type":"struct","fields":[{"name":"v","type":"void","nullable":true,"metadata":{}}]}`,
			write: "void columns"},
		{name: "void in a map", field: `"type":{"type":"map","keyType":"string","valueType":"void","valueContainsNull":true}`,
			read: "void columns"},
		{name: "void inside", field: `"type":{"type":"array","elementType":"void","containsNull":true}`, read: "void columns"},
		{name: "zero byte in a name inside",
			field: `"type":{"type":"struct","fields":[{"name":"a\\u0000b","type":"long","nullable":true,"metadata":{}}]}`,
			read:  "column name with a zero byte"},
		{name: "unknown type", field: `"type":"geometry(4326)"`, read: "type geometry(4326)"},
		{name: "a change of type as the protocol has it", reader: []string{"typeWidening"},
			field: `"type":"decimal(12,2)","metadata":{"delta.typeChanges":[{"fromType":"short","toType":"integer"},{"fromType":"integer","toType":"decimal(12, 2)"}]}`},
		{name: "another change of type", reader: []string{"typeWidening"},
			field: `"type":"string","metadata":{"delta.typeChanges":[{"fromType":"long","toType":"string"}]}`, read: "typeWidening"},
		{name: "a change of type inside", reader: []string{"typeWidening"},
			field: `"type":{"type":"array","elementType":"long","containsNull":true},"metadata":{"delta.typeChanges":[{"fromType":"double","toType":"long","fieldPath":"element"}]}`, read: "typeWidening"},
		{name: "changes of type that are none", reader: []string{"typeWidening"},
			field: `"type":"long","metadata":{"delta.typeChanges":"integer"}`, read: "typeWidening"},
		{name: "variant", reader: []string{"variantType"}, field: `"type":"variant"`, write: "variantType"},
		{name: "variant inside", reader: []string{"variantType"},
			field: `"type":{"type":"map","keyType":"string","valueType":"variant","valueContainsNull":true}`, write: "variantType"},
		{name: "check", properties: `"delta.constraints.c":"id > 0"`, write: "checkConstraints"},
		{name: "check taken over", properties: `"delta.constraints.c":"id > 0"`, duties: []delta.Duty{delta.EvaluatesChecks}},
		{name: "invariant", field: `"type":"long","metadata":{"delta.invariants":"{}"}`, write: "invariants"},
		{name: "invariant taken over", field: `"type":"long","metadata":{"delta.invariants":"{}"}`,
			duties: []delta.Duty{delta.EvaluatesInvariants}},
		{name: "generated", field: `"type":"long","metadata":{"delta.generationExpression":"1"}`, write: "generatedColumns"},
		{name: "default", field: `"type":"long","metadata":{"CURRENT_DEFAULT":"1"}`, write: "allowColumnDefaults",
			duties: []delta.Duty{delta.EvaluatesChecks}},
		{name: "default taken over", field: `"type":"long","metadata":{"CURRENT_DEFAULT":"1"}`, duties: []delta.Duty{delta.FillsDefaults}},
		{name: "identity", field: `"type":"long","metadata":{"delta.identity.start":1}`, write: "identityColumns"},
		{name: "legacy numbers without use", versions: `"minReaderVersion":2,"minWriterVersion":6`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			versions := row.versions
			if versions == "" {
				versions = fmt.Sprintf(`"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":[%s]`, quoted(append(row.writer, row.reader...)))
				if row.reader != nil {
					versions = fmt.Sprintf(`"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[%s],"writerFeatures":[%s]`, quoted(row.reader),
						quoted(append(row.writer, row.reader...)))
				}
			}
			schema := schemaText
			if row.field != "" {
				second := strings.ReplaceAll(`,{"name":"f",`+row.field+`}]}`, `"`, `\"`)
				schema = strings.TrimSuffix(schema, `]}`) + second
			}
			meta := metaLine("a", schema, row.partitions, row.properties)
			if row.formatChange != "" {
				meta = strings.Replace(meta, "parquet", row.formatChange, 1)
			}
			b := mem.New()
			mustLog(t, b, `{"protocol":{`+versions+"}}\n"+meta)
			s, err := delta.Load(t.Context(), b, testOptions(t))
			require.NoError(t, err)

			refused := func(err error, feature string, write bool) {
				t.Helper()
				if feature == "" {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, delta.ErrUnsupportedFeature)
				var f *delta.FeatureError
				require.ErrorAs(t, err, &f)
				require.Equal(t, feature, f.Feature)
				require.Equal(t, write, f.Write)
			}
			switch {
			case s.Widened() && row.read == "":
				refused(delta.CheckScannable(s), "typeWidening", false)
			case row.write == "variantType" || row.write == "void columns": // file by file
				refused(delta.CheckScannable(s), row.write, false)
			case row.name == "void":
				refused(delta.CheckScannable(s), "void columns", false)
			default:
				refused(delta.CheckScannable(s), row.read, false)
			}
			if row.read == "columnMapping with partition columns" {
				refused(delta.CheckReadable(s), "", false) // file by file
			} else {
				refused(delta.CheckReadable(s), row.read, false)
			}
			want, write := row.write, true
			if row.write == "" && row.read != "" {
				want, write = row.read, false
			}
			refused(delta.CheckWritable(s, row.duties...), want, write)
			txn := s.Begin(delta.Operation{Name: "WRITE", Duties: row.duties})
			file := delta.AddFile{Name: "x", Size: 1, Stats: `{"numRecords":1}`}
			if row.partitions != "" {
				one := "1"
				file.PartitionValues = map[string]*string{"id": &one}
			}
			require.NoError(t, txn.Add(file))
			_, err = txn.Commit(t.Context())
			refused(err, want, write)
		})
	}
}

// TestUnsupportedFeatures checks that every feature of the protocol is either supported
// or refused by its name before anything is written.
func TestUnsupportedFeatures(t *testing.T) {
	for _, feature := range []string{
		"icebergCompatV1", "icebergCompatV2", "icebergCompatV3", "checkpointProtection", "materializePartitionColumns",
		"collations-preview", "coordinatedCommits-preview", "redirectReaderWriter-preview", "redirectWriterOnly-preview",
		"managedCommit", "geospatial", "castIceberg", "adaptiveMetadata-preview",
	} {
		b := mem.New()
		mustLog(t, b, fmt.Sprintf(`{"protocol":{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":[%q]}}`, feature)+"\n"+
			metaLine("a", schemaText, "", ""))
		s, err := delta.Load(t.Context(), b, testOptions(t))
		require.NoError(t, err)
		require.NoError(t, delta.CheckReadable(s), feature)
		txn := s.Begin(delta.Operation{Name: "WRITE"})
		require.NoError(t, txn.Add(delta.AddFile{Name: "x", Size: 1, Stats: `{"numRecords":1}`}))
		_, err = txn.Commit(t.Context())
		var refused *delta.FeatureError
		require.ErrorAs(t, err, &refused, feature)
		require.Equal(t, feature, refused.Feature)
		_, err = b.Stat(t.Context(), logpath.CommitName(1))
		require.ErrorIs(t, err, objstore.ErrNotFound, feature)
	}
}

func TestCreateChoosesTheLeastProtocol(t *testing.T) {
	field := func(dt delta.DataType) delta.Struct {
		return delta.Struct{Fields: []delta.Field{{Name: "c", Type: delta.Array{Element: dt, ContainsNull: true}, Nullable: true}}}
	}
	rows := []struct {
		name           string
		schema         delta.Struct
		properties     map[string]string
		reader, writer int
		rf, wf         []string
	}{
		{"plain", field(delta.Timestamp), map[string]string{"delta.appendOnly": "true"}, 1, 2, nil, nil},
		{"ntz", field(delta.TimestampNTZ), nil, 3, 7, []string{"timestampNtz"}, []string{"appendOnly", "invariants", "timestampNtz"}},
		{"check", field(delta.Long), map[string]string{"delta.constraints.c": "true"}, 1, 7, nil,
			[]string{"appendOnly", "checkConstraints", "invariants"}},
		{"ict", field(delta.Long), map[string]string{"delta.enableInCommitTimestamps": "true"}, 1, 7, nil,
			[]string{"appendOnly", "inCommitTimestamp", "invariants"}},
		{"dv", field(delta.Long), map[string]string{"delta.enableDeletionVectors": "true"}, 3, 7, []string{"deletionVectors"},
			[]string{"appendOnly", "deletionVectors", "invariants"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := mustCreate(t, mem.New(), delta.CreateOptions{Schema: row.schema, Properties: row.properties})
			require.Equal(t, action.Protocol{MinReaderVersion: row.reader, MinWriterVersion: row.writer, ReaderFeatures: row.rf,
				WriterFeatures: row.wf}, s.Protocol())
		})
	}
	for name, c := range map[string]delta.CreateOptions{
		"unknown property": {Properties: map[string]string{"delta.novelty": "1"}},
		"bad interval":     {Properties: map[string]string{"delta.logRetentionDuration": "1 month"}},
		"bad flag":         {Properties: map[string]string{"delta.appendOnly": "yes"}},
		"empty name":       {Properties: map[string]string{"": "yes"}},
	} {
		c.Schema = twoColumns
		_, err := delta.Create(t.Context(), mem.New(), c)
		require.ErrorIs(t, err, delta.ErrInvalidProperty, name)
	}
}
