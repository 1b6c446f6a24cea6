package worker

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
)

const (
	maxLine  = 1 << 10
	maxLines = 200
)

// childLog writes a child's output to the log, at debug level, because lines of an engine can
// contain values and paths. After a crash it holds the line in which Go's runtime names the cause,
// whose text is fixed.
type childLog struct {
	done  sync.WaitGroup
	mu    sync.Mutex
	crash string
}

func (c *childLog) follow(r io.ReadCloser, log *slog.Logger) {
	c.done.Go(func() {
		defer r.Close()
		lines := bufio.NewReaderSize(r, maxLine)
		for n := 0; ; n++ {
			line, more, err := lines.ReadLine()
			if err != nil {
				return
			}
			for more && err == nil {
				_, more, err = lines.ReadLine()
			}
			if text := string(line); n < maxLines {
				log.Log(context.Background(), slog.LevelDebug, "worker output", "line", text)
				c.note(text)
			}
		}
	})
}

// note records the first line that the runtime prints when it aborts.
func (c *childLog) note(line string) {
	for _, fixed := range []string{"fatal error: ", "panic: runtime error: ", "SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE"} {
		if strings.HasPrefix(line, fixed) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.crash == "" {
				c.crash = line
			}
			return
		}
	}
}

// cause waits for the end of the output and returns that line.
func (c *childLog) cause() string {
	c.done.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.crash
}
