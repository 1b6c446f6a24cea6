package dml

import (
	"context"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/parquetcut"
)

// What is wrong with cutting leads to a write without it; what ends the session, or is the
// store's, does not.
func TestWhatIsNotForCutting(t *testing.T) {
	full := fmt.Errorf("writing a Parquet file: %w", &fs.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC})
	for _, err := range []error{parquetcut.ErrNotCut, full, &engine.Error{Kind: engine.KindIO}} {
		require.True(t, notForCutting(err), "%v", err)
	}
	for _, err := range []error{nil, objstore.ErrNotFound, context.Canceled, &engine.Error{Kind: engine.KindFatal}, &engine.Error{Kind: engine.KindInterrupted}} {
		require.False(t, notForCutting(err), "%v", err)
	}
}

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

// Bounds of whole numbers and days become the texts of the engine; where they are none of
// the column's type the engine is asked, which still needs to know of which column.
func TestBoundsThatWereFound(t *testing.T) {
	at := func(n int64) *int64 { return &n }
	for name, c := range map[string]struct {
		low, high *int64
		days      bool
		of        delta.DataType
		want      []string // nil where nothing is known
	}{
		"number":           {at(-5), at(7), false, delta.Long, []string{"-5", "7"}},
		"least and most":   {at(-128), at(127), false, delta.Byte, []string{"-128", "127"}},
		"too large":        {at(0), at(128), false, delta.Byte, nil},
		"too small":        {at(-1<<31 - 1), at(0), false, delta.Integer, nil},
		"day":              {at(-719162), at(2932896), true, delta.Date, []string{"0001-01-01", "9999-12-31"}},
		"before all years": {at(-719163), at(0), true, delta.Date, nil},
		"five digits":      {at(0), at(2932897), true, delta.Date, nil},
		"no value":         {nil, nil, true, delta.Date, []string{}},
		"days as numbers":  {at(1), at(2), true, delta.Integer, nil},
		"numbers as days":  {at(1), at(2), false, delta.Date, nil},
		"a timestamp":      {at(1), at(2), false, delta.Timestamp, nil},
		"a structure":      {at(1), at(2), false, delta.Struct{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, known := boundStats(parquetcut.Bounds{Column: "c", Days: c.days, Min: c.low, Max: c.high, Nulls: 3}, c.of)
			require.Equal(t, c.want != nil, known)
			require.Equal(t, []string{"c"}, got.Path)
			if !known {
				require.Nil(t, got.NullCount)
				return
			}
			require.Equal(t, int64(3), *got.NullCount)
			if len(c.want) == 0 {
				require.Nil(t, got.Min)
				require.Nil(t, got.Max)
				return
			}
			require.Equal(t, c.want, []string{*got.Min, *got.Max})
		})
	}
}
