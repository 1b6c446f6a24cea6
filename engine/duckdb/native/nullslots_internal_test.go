package native

import (
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

func TestClearSlots(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		width := []int{1, 8, 16, 32, 64, 128}[r.IntN(6)]
		offset, n := r.IntN(20), r.IntN(80)
		valid := make([]byte, (offset+n)/8+1)
		values := make([]byte, ((offset+n)*width)/8+1)
		for i := range valid {
			valid[i] = []byte{0xff, 0, byte(r.IntN(256))}[r.IntN(3)]
		}
		for i := range values {
			values[i] = 0xa5 | byte(r.IntN(256))
		}
		want := append([]byte(nil), values...)
		for slot := offset; slot < offset+n; slot++ {
			if valid[slot/8]&(1<<(slot%8)) != 0 {
				continue
			}
			for bit := slot * width; bit < (slot+1)*width; bit++ {
				want[bit/8] &^= 1 << (bit % 8)
			}
		}
		clearSlots(values, valid, offset, n, width)
		require.Equal(t, want, values, "width %d offset %d n %d valid %x", width, offset, n, valid)
	}
}

// TestNullsCarryNothing: no byte of a batch may depend on the memory of a NULL's slot.
func TestNullsCarryNothing(t *testing.T) {
	in, err := Open(BaseConfig())
	require.NoError(t, err)
	defer in.Close()
	// Values that disappear leave their bytes in the vector.
	c, err := in.Open(`SELECT
		CASE WHEN i % 3 = 0 THEN NULL ELSE i END AS big, nullif(i, 7)::INT AS word,
		TRY_CAST(CASE WHEN i % 2 = 0 THEN 'x' ELSE i::VARCHAR END AS DOUBLE) AS d,
		CASE WHEN i % 5 = 0 THEN NULL ELSE i % 2 = 0 END AS flag, nullif(i::HUGEINT, 9) AS huge,
		nullif(DATE '2020-01-01' + i::INT, DATE '2020-01-08') AS day,
		[nullif(i, 3), i] AS list, {'a': nullif(i, 4), 'b': CASE WHEN i = 2 THEN NULL ELSE 's' || i END} AS st,
		CASE WHEN i % 2 = 0 THEN NULL ELSE {'a': i} END AS none,
		array_value(nullif(i, 3), nullif(i, 5)) AS arr, nullif(INTERVAL (i) DAY, INTERVAL 6 DAY) AS iv,
		min(i) FILTER (WHERE i < 0) OVER () AS nothing
		FROM range(5000) r(i)`, engine.Args{}, selects, func() error { return nil })
	require.NoError(t, err)
	defer c.Close()
	nulls := 0
	for {
		batch, err := c.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		for i, column := range batch.Columns() {
			nulls += checkNullSlots(t, batch.ColumnName(i), column.Data())
		}
		batch.Release()
	}
	require.Greater(t, nulls, 10_000)
}

func checkNullSlots(t *testing.T, name string, data arrow.ArrayData) (nulls int) {
	t.Helper()
	buffers := data.Buffers()
	if fixed, ok := data.DataType().(arrow.FixedWidthDataType); ok && len(buffers) == 2 && buffers[0] != nil {
		for slot := data.Offset(); slot < data.Offset()+data.Len(); slot++ {
			if buffers[0].Bytes()[slot/8]&(1<<(slot%8)) != 0 {
				continue
			}
			nulls++
			for bit := slot * fixed.BitWidth(); bit < (slot+1)*fixed.BitWidth(); bit++ {
				require.Zero(t, buffers[1].Bytes()[bit/8]&(1<<(bit%8)), "%s: NULL at %d", name, slot)
			}
		}
	}
	for _, child := range data.Children() {
		nulls += checkNullSlots(t, name, child)
	}
	return nulls
}
