package move

import "io"

const (
	// chunkSize is the size in bytes of a chunk that is read ahead.
	chunkSize = 1 << 20
	// chunks is the number of chunks that are read ahead, so that the target receives a part of an
	// object while the next one is read.
	chunks = 8
)

// prefetched is a reader whose content a goroutine reads ahead. It is for one goroutine.
type prefetched struct {
	filled, free chan []byte
	quit         chan struct{}
	err          error // set before filled is closed
	chunk, rest  []byte
}

// readAhead returns a reader of what inner has. The caller calls stop before it closes inner; when stop
// has returned, nothing reads inner any more. It waits for a read that is under way.
func readAhead(inner io.Reader) (_ io.Reader, stop func()) {
	p := &prefetched{filled: make(chan []byte, chunks), free: make(chan []byte, chunks), quit: make(chan struct{})}
	for range chunks {
		p.free <- make([]byte, chunkSize)
	}
	go p.fill(inner)
	return p, func() {
		close(p.quit)
		for range p.filled { // the rest is not needed
		}
	}
}

func (p *prefetched) fill(inner io.Reader) {
	defer close(p.filled)
	for {
		select {
		case <-p.quit:
			p.err = io.ErrClosedPipe
			return
		case buffer := <-p.free:
			n := 0
			for n < len(buffer) && p.err == nil {
				var read int
				read, p.err = inner.Read(buffer[n:])
				n += read
			}
			p.filled <- buffer[:n] // there are as many places as buffers
			if p.err != nil {
				return
			}
		}
	}
}

// Read implements io.Reader.
func (p *prefetched) Read(into []byte) (int, error) {
	for len(p.rest) == 0 {
		if p.chunk != nil {
			p.free <- p.chunk[:chunkSize]
			p.chunk = nil
		}
		chunk, more := <-p.filled
		if !more {
			return 0, p.err
		}
		p.chunk, p.rest = chunk, chunk
	}
	n := copy(into, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}
