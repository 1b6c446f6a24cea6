package worker

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options configures the parent's end. Only Command is required.
type Options struct {
	// Command starts a child: a program and its arguments, which end up in
	// [Serve]. The child inherits its control socket as file descriptor
	// [ControlFD] and no environment.
	Command []string
	// Setup is handed to every child through the control socket: what its engine
	// is to be made from. It never shows in a list of processes.
	Setup []byte
	// TempDir receives one directory of this engine with one for each child, in
	// which the child works. What engines of ended processes left there is
	// removed. Default: the system's.
	TempDir string
	// Grace is how long a child may take to stop a statement. After that the caller is
	// released, and the child accepts no further statements. Default 500 ms.
	Grace time.Duration
	// MaxDraining is the number of draining processes that one owner may have. Above
	// it the oldest one is killed. Default 2.
	MaxDraining int
	// IdleTimeout ends a child without sessions. Default 60 s.
	IdleTimeout time.Duration
	// StartTimeout bounds the start of a child. Default 10 s.
	StartTimeout time.Duration
	// BaseMemory is what a child may hold in bytes beside leases and what its
	// sessions keep between statements, at the least; when it holds more while
	// nobody has a lease, that counts. Default 48 MiB. The program's text and what
	// else processes share is no part of it.
	BaseMemory int64
	// Logger receives starts and ends of children, and at debug level what they
	// print. Default: none.
	Logger *slog.Logger
	// Registerer receives the metrics; nil means none.
	Registerer prometheus.Registerer
}

const mib = 1 << 20

func (o Options) withDefaults() Options {
	def(&o.Grace, 500*time.Millisecond)
	def(&o.MaxDraining, 2)
	def(&o.IdleTimeout, time.Minute)
	def(&o.StartTimeout, 10*time.Second)
	def(&o.BaseMemory, 48*mib)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func def[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
