package interop

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/stretchr/testify/require"
)

const (
	corpusFolder = "testdata/conformance/tables"
	corpusIndex  = "testdata/conformance/index.yaml"
)

// specimen is one table of the corpus, with its purpose and the expected outcome.
type specimen struct {
	Table string `json:"table"`
	For   string `json:"for"`
	// Features holds the topics for which the table counts; all of them are in features.
	Features []string `json:"features"`
	// Columns holds the names and types as the server returns them.
	Columns []string `json:"columns"`
	// Versions has the rows of each version as JSON shows them. The last one is read
	// without AT, too.
	Versions []edition `json:"versions"`
	// Refused is how the server refuses the newest version.
	Refused *refusal `json:"refused"`
	// Writes follow one another. Without any, they are [usualWrites].
	Writes []write `json:"writes"`
	// NoFilters is set if no column has values that can be written as literals.
	NoFilters bool `json:"no_filters"`
	// Limits are the limits of other engines, from a write on or up to one.
	Limits []readLimit `json:"limits"`
	// Leaves is the protocol after the writes, if that matters.
	Leaves json.RawMessage `json:"leaves"`
	// SQL lets Spark make the table, whose rows are then those that Spark reads.
	SQL []string `json:"sql"`

	foreign map[int64]contents // the rows of each version of a table made by Spark, as Spark reads them
}

// edition is a version of a specimen.
type edition struct {
	Version int64    `json:"version"`
	Rows    []any    `json:"rows"`
	Refused *refusal `json:"refused"`
}

// refusal is an expected error. Says is a part of its details.
type refusal struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Says   string `json:"says"`
}

// write is one change through the interface: append, update, delete, optimize,
// "rename COLUMN", "add COLUMN TYPE", "restore VERSION".
type write struct {
	Do      string   `json:"do"`
	Refused *refusal `json:"refused"`
}

// readLimit is a limit of another engine because of which it does not read a table.
type readLimit struct {
	Engine string `json:"engine"`
	From   string `json:"from"`
	Until  string `json:"until"`
	// Says is a part of the engine's error. Misreads is set instead if the engine
	// silently reads other rows.
	Says     string `json:"says"`
	Misreads bool   `json:"misreads"`
	Why      string `json:"why"`
}

var usualWrites = []write{{Do: appending}, {Do: updating}, {Do: deleting}, {Do: optimizing}}

const (
	updating   = "update"
	optimizing = "optimize"
)

// features are the topics that the corpus must cover: every feature of the protocol, the
// versions that imply features, and other properties of tables.
var features = []string{
	"reader version 1", "reader version 2", "reader version 3", "reader version 4",
	"writer version 1", "writer version 2", "writer version 3", "writer version 4", "writer version 5", "writer version 6",
	"writer version 7", "writer version 8",
	"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "identityColumns", "allowColumnDefaults",
	"columnMapping name", "columnMapping id", "deletionVectors", "timestampNtz", "typeWidening", "typeWidening-preview", "v2Checkpoint",
	"vacuumProtocolCheck", "rowTracking", "domainMetadata", "inCommitTimestamp", "inCommitTimestamp-preview", "icebergCompatV1",
	"icebergCompatV2", "icebergCompatV3",
	"clustering", "variantType", "variantType-preview", "variantShredding", "variantShredding-preview", "collations-preview",
	"catalogManaged", "catalogOwned-preview",
	"coordinatedCommits-preview", "checkpointProtection", "materializePartitionColumns", "redirectReaderWriter-preview", "geospatial",
	"unknown feature",
	"data types", "partition types", "nested types", "void", "INT96", "statistics",
	"classic checkpoint", "multi-part checkpoint", "checkpoint damaged", "compacted log", "checksum file", "last checkpoint hint",
	"path encoding", "absolute path", "shallow clone", "replaced table", "time travel", "unknown action", "damaged log", "schema evolution",
}

// corpus returns the tables of the index.
func corpus(t *testing.T) []specimen {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(corpusIndex))
	require.NoError(t, err)
	parsed, err := yaml.Parser().Unmarshal(text)
	require.NoError(t, err)
	raw, err := json.Marshal(parsed)
	require.NoError(t, err)
	var index struct {
		Tables []specimen `json:"tables"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	d.UseNumber()
	require.NoError(t, d.Decode(&index))
	return index.Tables
}

// TestConformanceIndex checks that the index describes exactly the tables of the corpus,
// and that every feature has a table.
func TestConformanceIndex(t *testing.T) {
	t.Parallel()
	shown, names := map[string]bool{}, []string{}
	for _, s := range corpus(t) {
		require.NotEmpty(t, s.For, s.Table)
		require.NotEmpty(t, s.Features, s.Table)
		require.NotContains(t, names, s.Table)
		require.True(t, s.Refused != nil || len(s.Versions) > 0 || len(s.SQL) > 0, "%s has no outcome", s.Table)
		for _, f := range s.Features {
			require.Contains(t, features, f, s.Table)
			shown[f] = true
		}
		if len(s.SQL) == 0 {
			names = append(names, s.Table)
			checkProtocol(t, s)
		}
	}
	for _, f := range features {
		require.True(t, shown[f], "no table shows %s", f)
	}
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(corpusFolder), "*.txt"))
	require.NoError(t, err)
	var found []string
	for _, f := range files {
		found = append(found, strings.TrimSuffix(filepath.Base(f), ".txt"))
	}
	slices.Sort(names)
	require.Equal(t, found, names)
}

// checkProtocol requires that the index lists the features of the table's protocol.
func checkProtocol(t *testing.T, s specimen) {
	t.Helper()
	for _, part := range sections(s.text(t)) {
		if !strings.HasPrefix(part.name, "_delta_log/") {
			continue
		}
		for line := range strings.Lines(part.text) {
			var a struct {
				Protocol *struct{ ReaderFeatures, WriterFeatures []string }
			}
			if json.Unmarshal([]byte(line), &a) != nil || a.Protocol == nil {
				continue
			}
			for _, f := range slices.Concat(a.Protocol.ReaderFeatures, a.Protocol.WriterFeatures) {
				named := slices.ContainsFunc(s.Features, func(known string) bool { return strings.HasPrefix(known, f) })
				require.True(t, named || !slices.Contains(features, f) && f != "columnMapping", "%s does not list %s", s.Table, f)
			}
		}
	}
}

// text returns the table in its text form.
func (s specimen) text(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(filepath.FromSlash(corpusFolder), s.Table+".txt"))
	require.NoError(t, err)
	return string(text)
}
