package sessions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestASampleIsReadOnceInAWhile(t *testing.T) {
	reads := int64(0)
	s := ProcessMemory{read: func() int64 { reads++; return reads }}
	start := time.Now()
	for _, c := range []struct {
		after time.Duration
		want  int64
	}{{0, 1}, {0, 1}, {sampleEvery - 1, 1}, {sampleEvery, 2}, {2*sampleEvery - 1, 2}, {time.Hour, 3}} {
		require.Equal(t, c.want, s.Bytes(start.Add(c.after)), c.after)
	}
}

func BenchmarkProcessMemory(b *testing.B) {
	var s ProcessMemory
	for b.Loop() {
		s.Bytes(time.Now())
	}
}
