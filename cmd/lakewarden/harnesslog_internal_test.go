package main

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/catalog"
)

// lockedWriter lets the server log while a test reads what was logged.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
	// n, when not nil, counts what was written.
	n *atomic.Int64
}

// Write implements io.Writer.
func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n != nil {
		l.n.Add(int64(len(p)))
	}
	return l.w.Write(p)
}

// makeKeyIn makes a key with every scope that reaches a workspace.
func makeKeyIn(ctx context.Context, store catalog.Store, org, user, workspace string) (string, error) {
	key := apikey.Generate()
	_, err := store.CreateAPIKey(ctx, catalog.NewAPIKey{
		Org: catalog.OrgID(org), User: catalog.UserID(user), Workspace: catalog.WorkspaceID(workspace), Name: "in workspace",
		Prefix: key.Prefix(), Hash: key.Hash(), Scopes: auth.AllScopes().Strings(), ExpiresAt: time.Now().Add(time.Hour),
	})
	return key.Reveal(), err
}
