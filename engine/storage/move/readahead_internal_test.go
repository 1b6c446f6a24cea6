package move

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestReadAheadReturnsTheContent(t *testing.T) {
	content := make([]byte, 21*chunkSize+17)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	for _, size := range []int{0, 1, chunkSize, chunkSize + 1, chunks * chunkSize, len(content)} {
		reader, stop := readAhead(iotest.HalfReader(bytes.NewReader(content[:size])))
		read, err := io.ReadAll(reader)
		stop()
		require.NoError(t, err)
		require.True(t, bytes.Equal(content[:size], read), "%d bytes", size)
	}
}

func TestReadAheadReturnsTheErrorAfterTheContent(t *testing.T) {
	failed := errors.New("failed")
	reader, stop := readAhead(io.MultiReader(bytes.NewReader(make([]byte, chunkSize+5)), iotest.ErrReader(failed)))
	defer stop()
	read, err := io.ReadAll(reader)
	require.ErrorIs(t, err, failed)
	require.Len(t, read, chunkSize+5)
}

// TestReadAheadStops stops at any point of an endless content. Nothing reads it afterwards.
func TestReadAheadStops(t *testing.T) {
	for _, before := range []int64{0, 1, chunkSize, 3*chunkSize + 1} {
		inner := &zeros{}
		reader, stop := readAhead(inner)
		_, err := io.CopyN(io.Discard, reader, before)
		require.NoError(t, err)
		stop()
		inner.stopped = true
	}
}

// zeros is an endless content, which panics if it is read too late.
type zeros struct{ stopped bool }

func (z *zeros) Read(p []byte) (int, error) {
	if z.stopped {
		panic("read after the end")
	}
	clear(p)
	return len(p), nil
}
