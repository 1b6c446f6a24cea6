package delta_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// tableWith loads a table whose first commit has a protocol, properties and metadata of
// its one column.
func tableWith(t *testing.T, protocol, properties, column string) *delta.Snapshot {
	t.Helper()
	b := mem.New()
	schema := strings.Replace(schemaText, `\"metadata\":{}`, `\"metadata\":{`+strings.ReplaceAll(column, `"`, `\"`)+`}`, 1)
	mustLog(t, b, `{"protocol":{`+protocol+"}}\n"+metaLine("a", schema, "", properties))
	s, err := delta.Load(t.Context(), b, testOptions(t))
	require.NoError(t, err)
	return s
}

func versions(reader, writer int) string {
	return fmt.Sprintf(`"minReaderVersion":%d,"minWriterVersion":%d`, reader, writer)
}

func addMore(a *delta.Alteration) error {
	return a.AddColumn(nil, delta.Field{Name: "more", Type: delta.Long, Nullable: true})
}

func renameID(a *delta.Alteration) error { return a.RenameColumn([]string{"id"}, "number") }

func setVectors(a *delta.Alteration) error {
	return a.SetProperties(map[string]string{"delta.enableDeletionVectors": "true"})
}

// TestProtocolGrowsByWhatAChangeNeeds alters tables of every protocol version. Their
// metadata also uses features that their protocol lacks.
func TestProtocolGrowsByWhatAChangeNeeds(t *testing.T) {
	same := func(reader, writer int) action.Protocol {
		return action.Protocol{MinReaderVersion: reader, MinWriterVersion: writer}
	}
	lists := func(reader, writer string) action.Protocol {
		p := action.Protocol{MinReaderVersion: 1, MinWriterVersion: 7, WriterFeatures: strings.Fields(writer)}
		if reader != "" {
			p.MinReaderVersion, p.ReaderFeatures = 3, strings.Fields(reader)
		}
		return p
	}
	for name, c := range map[string]struct {
		protocol, properties, column string
		change                       func(*delta.Alteration) error
		want                         action.Protocol
	}{
		"a column": {versions(1, 2), "", "", addMore, same(1, 2)},
		"a column next to an unused feature": {versions(1, 2), `"delta.enableTypeWidening":"true","delta.enableChangeDataFeed":"true"`, "",
			addMore, same(1, 2)},
		"a column next to a comment": {versions(1, 1), "", `"comment":"x"`, addMore, same(1, 1)},
		"mapping, version 2":         {versions(1, 2), "", "", renameID, lists("columnMapping", "appendOnly columnMapping invariants")},
		"mapping, version 5":         {versions(1, 5), "", "", renameID, same(2, 5)},
		"mapping, version 6":         {versions(1, 6), "", "", renameID, same(2, 6)},
		"mapping, versions 2 and 5":  {versions(2, 5), "", "", renameID, same(2, 5)},
		"mapping, listed for writers only": {versions(1, 7) + `,"writerFeatures":["columnMapping"]`, "", "", renameID,
			lists("columnMapping", "columnMapping")},
		"vectors, version 2": {versions(1, 2), "", "", setVectors,
			lists("deletionVectors", "appendOnly deletionVectors invariants")},
		"vectors, version 4": {versions(1, 4), "", "", setVectors,
			lists("deletionVectors", "appendOnly changeDataFeed checkConstraints deletionVectors generatedColumns invariants")},
		"vectors, version 6 of writers": {versions(1, 6), "", "", setVectors,
			lists("deletionVectors", "appendOnly changeDataFeed checkConstraints deletionVectors generatedColumns identityColumns invariants")},
		"vectors, versions 2 and 5": {versions(2, 5), "", "", setVectors,
			lists("columnMapping deletionVectors", "appendOnly changeDataFeed checkConstraints columnMapping deletionVectors generatedColumns "+
				"invariants")},
		"vectors, no feature at all": {versions(1, 1), "", "", setVectors, lists("deletionVectors", "deletionVectors")},
		"a feature of writers": {versions(1, 2), "", "", func(a *delta.Alteration) error { return a.AddConstraint("c", "id > 0") },
			lists("", "appendOnly checkConstraints invariants")},
		"an unused feature stays unlisted": {versions(1, 2), `"delta.enableTypeWidening":"true"`, "", setVectors,
			lists("deletionVectors", "appendOnly deletionVectors invariants")},
		"widening, the property being there": {versions(1, 2), `"delta.enableTypeWidening":"true"`, "", func(a *delta.Alteration) error {
			return a.WidenColumn([]string{"id"}, delta.Decimal{Precision: 22, Scale: 2})
		}, lists("typeWidening", "appendOnly invariants typeWidening")},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustAlter(t, tableWith(t, c.protocol, c.properties, c.column), c.change)
			require.Equal(t, c.want, s.Protocol())
			require.NoError(t, delta.CheckWritable(s, delta.EvaluatesChecks))
		})
	}
}

// TestRestoreKeepsTheProtocol restores a version whose metadata used a feature that the
// protocol never had.
func TestRestoreKeepsTheProtocol(t *testing.T) {
	s := tableWith(t, versions(1, 2), `"delta.enableChangeDataFeed":"true","x":"y"`, "")
	before := s.Version()
	s = mustAlter(t, s, func(a *delta.Alteration) error { return a.UnsetProperties("x", "delta.enableChangeDataFeed") })
	s, _ = mustRestore(t, s, before)
	require.Equal(t, action.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}, s.Protocol())
	require.Equal(t, "y", s.Properties()["x"])
}

// TestPreviewFeaturesAreNotFinalOnes checks preview features, whose
// metadata has another form.
func TestPreviewFeaturesAreNotFinalOnes(t *testing.T) {
	s := tableWith(t, versions(1, 7)+`,"writerFeatures":["inCommitTimestamp-preview"]`, `"delta.enableInCommitTimestamps-preview":"true"`, "")
	require.NoError(t, delta.CheckReadable(s))
	var refused *delta.FeatureError
	require.ErrorAs(t, delta.CheckWritable(s), &refused)
	require.Equal(t, "inCommitTimestamp-preview", refused.Feature)

	s = tableWith(t, versions(3, 7)+`,"readerFeatures":["typeWidening-preview"],"writerFeatures":["typeWidening-preview"]`,
		`"delta.enableTypeWidening":"true"`, "")
	require.NoError(t, delta.CheckWritable(s))
	err := s.Alter().WidenColumn([]string{"id"}, delta.Decimal{Precision: 22, Scale: 2})
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "typeWidening-preview", refused.Feature)
}
