package query

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestRoomIsReservedBeforeItIsUsed: what was written never exceeds what is
// reserved, the reservation never exceeds what there is, and a result is refused
// only when it does not fit.
func TestRoomIsReservedBeforeItIsUsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Int64Range(1, 2<<20).Draw(t, "most")
		left := rapid.Int64Range(0, 2<<20).Draw(t, "left")
		reserved := int64(0)
		out := &roomyWriter{dst: &bytes.Buffer{}, room: &room{limit: most, reserve: func(n int64) (bool, error) {
			if n > left {
				return false, nil
			}
			reserved = n
			return true, nil
		}}}
		for _, size := range rapid.SliceOfN(rapid.IntRange(0, 300<<10), 0, 20).Draw(t, "writes") {
			before := out.written
			n, err := out.Write(make([]byte, size))
			if before+int64(size) <= min(most, left) || size == 0 {
				if err != nil || n != size {
					t.Fatalf("%d bytes after %d refused: %v", size, before, err)
				}
			} else if !errors.Is(err, ErrResultTooLarge) || n != 0 {
				t.Fatalf("%d bytes after %d: %d written, %v", size, before, n, err)
			}
			if out.written > reserved || reserved > min(most, left) {
				t.Fatalf("%d written, %d reserved of %d and %d", out.written, reserved, most, left)
			}
		}
	})
}

func TestLargeResultsReserveSeldom(t *testing.T) {
	calls := 0
	r := &room{limit: 1 << 30, reserve: func(int64) (bool, error) { calls++; return true, nil }}
	for n := int64(64 << 10); n <= r.limit; n += 64 << 10 {
		require.NoError(t, r.grow(n))
	}
	require.Less(t, calls, 80)
	broken := errors.New("no catalog")
	r.reserve = func(int64) (bool, error) { return false, broken }
	require.ErrorIs(t, (&room{limit: 10, reserve: r.reserve}).grow(1), broken)
}
