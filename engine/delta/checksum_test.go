package delta_test

import (
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// TestChecksumMatchesTheLog commits after another writer whose metadata has empty and
// unknown members: readers compare the checksum file with the log.
func TestChecksumMatchesTheLog(t *testing.T) {
	metadata := strings.Replace(metaLine("a", schemaText, "", ""), `"id":"a"`,
		`"id":"a","name":"","description":"","createdTime":0,"later":{"x":[1]}`, 1)
	b := mem.New()
	mustLog(t, b, `{"protocol":{"minReaderVersion":1,"minWriterVersion":2,"later":true}}`+"\n"+metadata)
	s, err := delta.Load(t.Context(), b, testOptions(t))
	require.NoError(t, err)
	s = mustAppend(t, s, 1)
	r, err := b.Get(t.Context(), logpath.ChecksumName(s.Version()))
	require.NoError(t, err)
	raw, err := io.ReadAll(r)
	require.NoError(t, err)
	var sum, line map[string]any
	require.NoError(t, json.Unmarshal(raw, &sum))
	require.NoError(t, json.Unmarshal([]byte(metadata), &line))
	require.Equal(t, line["metaData"], sum["metadata"])
	require.Equal(t, map[string]any{"minReaderVersion": 1.0, "minWriterVersion": 2.0, "later": true}, sum["protocol"])
}
