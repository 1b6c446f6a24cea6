package gateway

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// maxRun is the maximum number of bytes that one request to a store reads.
const maxRun = 16 << 20

// cache holds blocks of write-once objects and reads missing blocks from the stores, each block
// once for all callers that wait for it.
//
// A requested block is in memory, or in a flight, or in neither, and then the next request starts
// its flight; mu makes these transitions atomic. Flights of neighbouring blocks share one load,
// which lives as long as one of the statements that joined it.
type cache struct {
	blockSize int64
	run       int64 // maximum number of blocks in one request to a store
	readAhead int64
	known     *known
	disk      *disk // nil if there is no disk tier
	metrics   *metrics
	loads     sync.WaitGroup

	mu      sync.Mutex
	memory  *lru[block, []byte]
	flights map[block]*flight
	running map[*load]struct{}
}

// block is one part of an object, blockSize bytes long unless it is the last one.
type block struct {
	object object
	index  int64
}

func newCache(opts Options, metrics *metrics) (*cache, error) {
	c := &cache{
		blockSize: opts.BlockBytes,
		// A run never evicts its own first blocks.
		run:       max(1, min(maxRun, opts.MemoryBytes/4)/opts.BlockBytes),
		readAhead: int64(opts.ReadAhead),
		known:     newKnown(opts.Recheck, opts.Now),
		metrics:   metrics,
		memory:    newLRU[block, []byte](opts.MemoryBytes),
		flights:   map[block]*flight{},
		running:   map[*load]struct{}{},
	}
	if opts.Dir == "" {
		return c, nil
	}
	var err error
	c.disk, err = openDisk(opts.Dir, opts.DiskBytes, metrics)
	return c, err
}

// close waits for loads, whose statements must have ended, and for the disk.
func (c *cache) close() error {
	c.loads.Wait()
	if c.disk == nil {
		return nil
	}
	return c.disk.close()
}

// forget drops the blocks and descriptions of the objects for which match is true. What is being
// loaded of them reaches the statements that wait for it, and is not cached.
func (c *cache) forget(match func(identity, name string) bool) {
	c.known.forgetWhere(match)
	c.drop(func(o object) bool { return match(o.identity, o.name) })
}

// drop drops the blocks of the objects for which match is true.
func (c *cache) drop(match func(object) bool) {
	c.mu.Lock()
	c.memory.removeWhere(func(b block) bool { return match(b.object) })
	c.metrics.bytes.WithLabelValues("memory").Set(float64(c.memory.used))
	for l := range c.running {
		l.passing = l.passing || match(l.object)
	}
	c.mu.Unlock()
	c.disk.forget(match)
}

// maxUnconfirmed is how long blocks are cached of an object that its store was not asked about.
// Other writers delete objects, too.
const maxUnconfirmed = 50 * time.Minute

// expire drops the blocks of objects that were not confirmed for too long.
func (c *cache) expire() {
	confirmed := c.known.confirmed(maxUnconfirmed)
	c.drop(func(o object) bool { return !confirmed(o) })
}

// lacks records that a store has no object of this name.
func (c *cache) lacks(identity, name string) {
	if _, cached := c.known.last(identity, name); cached {
		c.forget(func(i, n string) bool { return i == identity && n == name })
	}
}

// size returns the length of a block.
func (c *cache) size(b block) int64 {
	return min(c.blockSize, b.object.size-b.index*c.blockSize)
}

// read yields the bytes [start, end) of an object in slices that must not be changed. The first
// error ends the sequence.
func (c *cache) read(ctx context.Context, st *statement, location *Location, o object, start, end int64) iter.Seq2[[]byte, error] {
	if !writeOnce(o.name) {
		return c.pass(ctx, location, o, start, end)
	}
	return func(yield func([]byte, error) bool) {
		last := (end - 1) / c.blockSize
		for start < end {
			b := block{o, start / c.blockSize}
			data, err := c.get(ctx, st, location, b, last)
			if err != nil {
				yield(nil, err)
				return
			}
			base := b.index * c.blockSize
			piece := data[start-base : min(end-base, int64(len(data)))]
			if !yield(piece, nil) {
				return
			}
			start += int64(len(piece))
		}
	}
}

// get returns one block. The caller will also read the blocks after it up to last.
func (c *cache) get(ctx context.Context, st *statement, location *Location, b block, last int64) ([]byte, error) {
	c.mu.Lock()
	if data, ok := c.memory.get(b); ok {
		c.mu.Unlock()
		c.metrics.blocks.WithLabelValues("memory").Inc()
		return data, nil
	}
	f := c.flights[b]
	if f == nil {
		f = c.start(location, b, last)
	} else {
		c.metrics.blocks.WithLabelValues("joined").Inc()
	}
	f.load.join(st)
	c.mu.Unlock()
	select {
	case <-f.landed:
		return f.data, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// start begins a load of b and of the missing blocks after it that will be needed soon. The caller
// holds mu.
func (c *cache) start(location *Location, b block, last int64) *flight {
	l := &load{cache: c, location: location, object: b.object, first: b.index, next: b.index, members: map[*statement]func() bool{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.end = b.index + 1
	if l.onDisk = c.disk.has(b); !l.onDisk {
		l.end = c.runEnd(b, last)
	}
	for index := l.first; index < l.end; index++ {
		c.flights[block{b.object, index}] = &flight{load: l, landed: make(chan struct{})}
	}
	c.running[l] = struct{}{}
	c.loads.Add(1)
	go func() {
		defer c.loads.Done()
		l.do()
	}()
	return c.flights[b]
}

// runEnd returns the end of a run that starts at b. The run ends after last, or further if it
// continues cached blocks; it ends earlier before a cached block, or at the maximum length.
func (c *cache) runEnd(b block, last int64) int64 {
	if b.index > 0 && c.present(block{b.object, b.index - 1}) {
		last += c.readAhead
	}
	last = min(last, (b.object.size-1)/c.blockSize, b.index+c.run-1)
	end := b.index + 1
	for end <= last && !c.present(block{b.object, end}) {
		end++
	}
	return end
}

func (c *cache) present(b block) bool {
	return c.memory.has(b) || c.flights[b] != nil || c.disk.has(b)
}

// land stores a block in the cache and passes it to the waiting callers.
func (c *cache) land(l *load, b block, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !l.passing {
		c.memory.put(b, data, int64(len(data)))
		c.metrics.bytes.WithLabelValues("memory").Set(float64(c.memory.used))
		if !l.onDisk {
			c.disk.write(b, data)
		}
	}
	if f := c.flights[b]; f != nil {
		delete(c.flights, b)
		f.data = data
		close(f.landed)
	}
}

// crash ends the flights of a load that failed.
func (c *cache) crash(l *load, err error) {
	switch {
	case errors.Is(err, ErrContent):
		c.known.forget(l.object)
	case errors.Is(err, objstore.ErrNotFound):
		c.lacks(l.object.identity, l.object.name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for index := l.first; index < l.end; index++ {
		b := block{l.object, index}
		if f := c.flights[b]; f != nil && f.load == l {
			delete(c.flights, b)
			f.err = err
			close(f.landed)
		}
	}
}
