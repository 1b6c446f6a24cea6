package main

import (
	"io"
	"sync"

	"github.com/lakewarden/lakewarden/engine"
)

// lockedWriter lets the server log while a test reads what was logged.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func engineWrite(sql, dir string) engine.WriteRequest {
	return engine.WriteRequest{SQL: sql, Dir: dir}
}
