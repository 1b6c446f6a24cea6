package parquetcut

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What is written is read again, whatever the width and however values repeat.
func TestHybridValuesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(0, 32).Draw(t, "width")
		var values []uint32
		for range rapid.IntRange(0, 12).Draw(t, "runs") {
			value := uint32(rapid.Uint64Range(0, 1<<width-1).Draw(t, "value")) //nolint:gosec // of at most 32 bits
			for range rapid.SampledFrom([]int{1, 1, 2, 7, 8, 9, 100}).Draw(t, "times") {
				values = append(values, value)
			}
		}
		got, err := readHybrid(appendHybrid(nil, values, width), width, len(values))
		require.NoError(t, err)
		require.Equal(t, append([]uint32{}, values...), got)
	})
}

// A run of levels says 255 where 0 and 1 are: that many values would be taken for there.
func TestValuesOfTooManyBits(t *testing.T) {
	_, err := readHybrid([]byte{200, 1, 255}, 1, 100)
	require.ErrorIs(t, err, ErrNotCut)
	got, err := readHybrid([]byte{200, 1, 1}, 1, 100)
	require.NoError(t, err)
	require.Len(t, got, 100)
}

// Lists within lists, and lists of more than there can be, are refused before memory or
// the stack is taken for them.
func TestListsWithoutEnd(t *testing.T) {
	deep := make([]byte, 4<<20)
	for i := range deep {
		deep[i] = 0x19 // field 1, then lists of one list each
	}
	_, _, err := decode(deep)
	require.ErrorIs(t, err, ErrNotCut)
	wide := make([]byte, 4<<20)
	for i := 0; i+5 < len(wide); i += 5 {
		copy(wide[i:], []byte{0xf9, 0xff, 0xff, 0xff, 0x01}) // lists of four million lists
	}
	wide[0] = 0x19
	_, _, err = decode(wide)
	require.ErrorIs(t, err, ErrNotCut)
}
