package spill

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options configures a store. The zero value allows no files.
type Options struct {
	// Dir is the directory of the files; "" means the system's temporary directory.
	Dir string
	// ServerBytes bounds the files of all writers. OwnerBytes bounds those of one
	// organisation; the files of one user may take half of it.
	ServerBytes, OwnerBytes int64
	// Patience is how long a writer waits for a client that reads nothing, or less than 1
	// MiB a second, before it writes to a file. Default 2 s.
	Patience time.Duration
	// Hurry is the same while others wait for the statement to end. Default 250 ms.
	Hurry time.Duration
	// Stall is how long a client may leave a piece unread before its connection is
	// closed, and how far it may lag behind LeastRate. Default 10 min.
	Stall time.Duration
	// Grace is how long a connection still accepts bytes after the context of its writer has
	// ended, so that the response ends where readers recognize the end. Default 200 ms.
	Grace time.Duration
	// LeastRate is how many bytes a second a client must read from a file. Default 32
	// KiB.
	LeastRate int64
	// Now is the clock of Stall and LeastRate; nil means [time.Now].
	Now func() time.Time
	// Registerer receives the metrics; nil means none.
	Registerer prometheus.Registerer
}

// Store accounts for the files of all writers. It is safe for concurrent use.
type Store struct {
	opts    Options
	aborted *prometheus.CounterVec

	mu    sync.Mutex
	used  int64
	orgs  map[string]int64
	users map[Owner]int64
	// writers holds the writers with a file.
	writers map[*Writer]struct{}
}

// Owner identifies the user, in an organisation, against whose limit a file counts.
type Owner struct{ Org, User string }

// The reasons for which a writer ends a response.
const (
	reasonFull    = "full"    // the limit of the files
	reasonStalled = "stalled" // too little progress in Options.Stall
	reasonDisk    = "disk"    // a file could not be written or read
)

// New returns a store without files.
func New(opts Options) *Store {
	if opts.Patience == 0 {
		opts.Patience = 2 * time.Second
	}
	if opts.Hurry == 0 {
		opts.Hurry = 250 * time.Millisecond
	}
	if opts.Stall == 0 {
		opts.Stall = 10 * time.Minute
	}
	if opts.Grace == 0 {
		opts.Grace = 200 * time.Millisecond
	}
	if opts.LeastRate == 0 {
		opts.LeastRate = 32 << 10
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	aborted := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "lakewarden_streams_aborted_total", Help: "Responses that ended early because their client did not read them, by reason.",
	}, []string{"reason"})
	s := &Store{opts: opts, aborted: aborted, orgs: map[string]int64{}, users: map[Owner]int64{}, writers: map[*Writer]struct{}{}}
	for _, reason := range []string{reasonFull, reasonStalled, reasonDisk} {
		s.aborted.WithLabelValues(reason)
	}
	if opts.Registerer != nil {
		gauge := func(name, help string, value func(bytes int64, files int) float64) prometheus.Collector {
			return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(s.Used()) })
		}
		opts.Registerer.MustRegister(s.aborted,
			gauge("lakewarden_spilled_bytes", "Bytes of responses on disk that their clients have not read.",
				func(n int64, _ int) float64 { return float64(n) }),
			gauge("lakewarden_spilled_streams", "Responses that have such bytes.", func(_ int64, n int) float64 { return float64(n) }))
	}
	return s
}

// Used returns the total size and the number of the files.
func (s *Store) Used() (bytes int64, files int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, len(s.writers)
}

// reserve reserves n bytes for an owner. It returns false if a limit would be exceeded.
func (s *Store) reserve(owner Owner, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+n > s.opts.ServerBytes || s.orgs[owner.Org]+n > s.opts.OwnerBytes || s.users[owner]+n > s.opts.OwnerBytes/2 {
		return false
	}
	s.used += n
	s.orgs[owner.Org] += n
	s.users[owner] += n
	return true
}

func (s *Store) release(owner Owner, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
	if s.orgs[owner.Org] -= n; s.orgs[owner.Org] == 0 {
		delete(s.orgs, owner.Org)
	}
	if s.users[owner] -= n; s.users[owner] == 0 {
		delete(s.users, owner)
	}
}

func (s *Store) add(w *Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writers[w] = struct{}{}
}

func (s *Store) remove(w *Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.writers, w)
}

// create creates a file and removes its name.
func (s *Store) create() (*os.File, error) {
	f, err := os.CreateTemp(s.opts.Dir, "spill-*")
	if err != nil {
		return nil, fmt.Errorf("spill: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("spill: %w", err), f.Close())
	}
	return f, nil
}
