package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestASampleIsReadOnceInAWhile(t *testing.T) {
	reads := int64(0)
	s := sampled{read: func() int64 { reads++; return reads }}
	start := time.Now()
	for _, c := range []struct {
		after time.Duration
		want  int64
	}{{0, 1}, {0, 1}, {sampleEvery - 1, 1}, {sampleEvery, 2}, {2*sampleEvery - 1, 2}, {time.Hour, 3}} {
		require.Equal(t, c.want, s.value(start.Add(c.after)), c.after)
	}
}

func BenchmarkSampledMemory(b *testing.B) {
	s := sampled{read: ownMemory}
	for b.Loop() {
		s.value(time.Now())
	}
}
