package dml

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// Only what the log says is taken over: a null in it, as what is not there, is unknown.
func TestStatisticsThatAreTakenOver(t *testing.T) {
	for name, c := range map[string]struct {
		stats     string
		of        delta.DataType
		low, high string
		known     bool
	}{
		"text":                {`{"minValues":{"c":"a"},"maxValues":{"c":"b"},"nullCount":{"c":0}}`, delta.String, "a", "b", true},
		"decimal":             {`{"minValues":{"c":-1.50},"maxValues":{"c":2.00},"nullCount":{"c":0}}`, delta.Decimal{Precision: 5, Scale: 2}, "-1.50", "2.00", true},
		"binary":              {`{"nullCount":{"c":0}}`, delta.Binary, "", "", true},
		"number":              {`{"minValues":{"c":1},"maxValues":{"c":2},"nullCount":{"c":0}}`, delta.Long, "", "", false},
		"nulls in the column": {`{"minValues":{"c":"a"},"maxValues":{"c":"b"},"nullCount":{"c":1}}`, delta.String, "", "", false},
		"no count":            {`{"minValues":{"c":"a"},"maxValues":{"c":"b"}}`, delta.String, "", "", false},
		"null as the count":   {`{"minValues":{"c":"a"},"maxValues":{"c":"b"},"nullCount":{"c":null}}`, delta.String, "", "", false},
		"null count, binary":  {`{"nullCount":{"c":null}}`, delta.Binary, "", "", false},
		"null as a maximum":   {`{"minValues":{"c":"a"},"maxValues":{"c":null},"nullCount":{"c":0}}`, delta.String, "", "", false},
		"no minimum":          {`{"maxValues":{"c":"b"},"nullCount":{"c":0}}`, delta.String, "", "", false},
		"null, decimal":       {`{"minValues":{"c":null},"maxValues":{"c":1},"nullCount":{"c":0}}`, delta.Decimal{Precision: 5, Scale: 2}, "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := delta.File{Name: "f", Add: &action.Add{Stats: c.stats}}.Stats()
			require.NoError(t, err)
			got, known := keptStats(before, "c", c.of)
			require.Equal(t, c.known, known)
			if !known {
				require.Nil(t, got.NullCount)
			}
			if c.low == "" {
				require.Nil(t, got.Min)
				require.Nil(t, got.Max)
				return
			}
			require.Equal(t, c.low, *got.Min)
			require.Equal(t, c.high, *got.Max)
		})
	}
}
