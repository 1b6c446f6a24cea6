package ingest_test

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/contentcoding"
	"github.com/lakewarden/lakewarden/engine/ingest/csvinfer"
	"github.com/lakewarden/lakewarden/engine/ingest/parquetbody"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// TestZIPArchivesAreRefusedByName sends an archive as a body of each format.
func TestZIPArchivesAreRefusedByName(t *testing.T) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	inner, err := w.Create("rows.csv")
	require.NoError(t, err)
	_, err = io.WriteString(inner, "id\n1\n")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	refused := func(format staging.Format, err error) {
		t.Helper()
		var syntax *staging.SyntaxError
		require.ErrorAs(t, err, &syntax)
		require.Equal(t, format, syntax.Format)
		require.Contains(t, syntax.Error(), "ZIP archive")
	}
	columns := []engine.Column{{Name: "id", Type: sqltype.Varchar, Nullable: true}}
	bodies := map[string]func() io.Reader{
		"whole": func() io.Reader { return bytes.NewReader(archive.Bytes()) },
		"bytes": func() io.Reader { return iotest.OneByteReader(bytes.NewReader(archive.Bytes())) },
	}
	for _, body := range bodies {
		for _, format := range []staging.Format{staging.CSV, staging.JSON, staging.NDJSON, staging.Arrow} {
			_, err := ingest.Stage(t.Context(), body(), ingest.Request{Format: format, Columns: columns, Dir: t.TempDir()})
			refused(format, err)
		}
		_, err := parquetbody.Spool(t.Context(), body(), t.TempDir(), staging.Limits{})
		refused(staging.Parquet, err)
		_, err = csvinfer.Spool(t.Context(), body(), contentcoding.Identity, t.TempDir(), 1<<20)
		refused(staging.CSV, err)
	}
	for _, text := range []string{"PK\n1\n", "P", "P\x03\n1\n"} {
		_, err := ingest.Stage(t.Context(), strings.NewReader("id\n"+text),
			ingest.Request{Format: staging.CSV, Columns: columns, Dir: t.TempDir()})
		require.NoError(t, err, "%q", text)
	}
}
