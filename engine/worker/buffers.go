package worker

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// buffers pools the memory of batches. The batches of one result have similar sizes, and without a
// pool the garbage collector would spend much time on them.
type buffers struct {
	classes [maxPooled - minPooled + 1]sync.Pool
}

// Pooled sizes are the powers of two from 4 KiB to 16 MiB.
const (
	minPooled = 12
	maxPooled = 24
)

var _ memory.Allocator = (*buffers)(nil)

// pooled is shared by all results of the process.
var pooled = &buffers{}

// class returns the index of the pool for size, or -1.
func class(size int) int {
	if size <= 0 || size > 1<<maxPooled {
		return -1
	}
	return max(bits.Len(uint(size-1))-minPooled, 0)
}

// Allocate implements memory.Allocator. The content is arbitrary.
func (p *buffers) Allocate(size int) []byte {
	c := class(size)
	if c < 0 {
		return make([]byte, size)
	}
	if b, ok := p.classes[c].Get().(*byte); ok {
		return unsafe.Slice(b, 1<<(c+minPooled))[:size]
	}
	return make([]byte, 1<<(c+minPooled))[:size]
}

// Reallocate implements memory.Allocator.
func (p *buffers) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	grown := p.Allocate(size)
	copy(grown, b)
	p.Free(b)
	return grown
}

// Free implements memory.Allocator.
func (p *buffers) Free(b []byte) {
	if c := class(cap(b)); c >= 0 && cap(b) == 1<<(c+minPooled) {
		p.classes[c].Put(unsafe.SliceData(b))
	}
}
