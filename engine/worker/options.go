package worker

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options configures the parent's side. Only Command is required.
type Options struct {
	// Command is the program and arguments of a child, which must call [Serve]. The child inherits
	// its control socket as file descriptor [ControlFD] and no environment.
	Command []string
	// Setup is sent to every child through the control socket; the child makes its engine from it.
	// It never appears in a list of processes.
	Setup []byte
	// TempDir is where the engine makes its directory, which has a subdirectory for each child to
	// work in. Directories of engines whose process has ended are removed. Default: the system's.
	TempDir string
	// Grace is how long a child may take to stop a statement. After that the caller is
	// released, and the child accepts no further statements. Default 500 ms.
	Grace time.Duration
	// MaxDraining is the maximum number of draining processes for one purpose. Beyond it the oldest
	// one is killed. Default 2.
	MaxDraining int
	// IdleTimeout is the time after which a child without sessions ends. Default 60 s.
	IdleTimeout time.Duration
	// StartTimeout bounds the start of a child. Default 10 s.
	StartTimeout time.Duration
	// BaseMemory is the minimum, in bytes, of the memory that a child may hold in addition to
	// leases and to what its sessions cache between statements. If it holds more while there are no
	// leases, that amount counts. Default 48 MiB. Memory that processes share, such as the
	// program's text, is excluded.
	BaseMemory int64
	// Logger receives starts and ends of children, and at debug level their output. Default: none.
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
