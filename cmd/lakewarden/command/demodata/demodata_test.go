package demodata_test

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/command/demodata"
)

// TestFiles reads every embedded file as Parquet and compares its size with the known
// size of the data set.
func TestFiles(t *testing.T) {
	rows := map[string]int64{"airlines": 16, "airports": 1458, "planes": 3322, "models": 3322, "weather": 26115, "flights": 336776}
	columns := map[string]int{"airlines": 2, "airports": 8, "planes": 9, "models": 9, "weather": 15, "flights": 19}
	require.Len(t, demodata.Tables, len(rows))

	for _, table := range demodata.Tables {
		t.Run(table, func(t *testing.T) {
			text, err := demodata.Files.ReadFile(demodata.FileOf(table))
			require.NoError(t, err)
			reader, err := file.NewParquetReader(bytes.NewReader(text))
			require.NoError(t, err)
			defer func() { require.NoError(t, reader.Close()) }()
			require.Equal(t, rows[table], reader.NumRows())
			require.Equal(t, columns[table], reader.MetaData().Schema.NumColumns())
		})
	}
}
