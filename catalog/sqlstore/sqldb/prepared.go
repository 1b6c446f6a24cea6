package sqldb

import (
	"context"
	"database/sql"
	"sync"
)

// maxPrepared bounds the number of prepared statements. The texts of this package with
// their optional parts are fewer. Only statements with long lists of values exceed it.
const maxPrepared = 256

// preparedPool caches prepared statements, because SQLite spends more time on parsing
// and planning them than on running them. The Postgres driver caches them itself.
type preparedPool struct {
	*sql.DB
	mu         sync.RWMutex
	statements map[string]*sql.Stmt
}

// QueryContext replaces the method of the pool.
func (p *preparedPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	statement, err := p.statement(ctx, query) //nolint:sqlclosecheck // cached until the pool is closed
	if err != nil {
		return nil, err
	}
	if statement == nil {
		return p.DB.QueryContext(ctx, query, args...)
	}
	return statement.QueryContext(ctx, args...)
}

// statement returns nil if the cache is full. Statements are closed with their pool.
func (p *preparedPool) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	p.mu.RLock()
	cached, full := p.statements[query], len(p.statements) >= maxPrepared
	p.mu.RUnlock()
	if cached != nil || full {
		return cached, nil
	}
	fresh, err := p.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if cached := p.statements[query]; cached != nil {
		_ = fresh.Close() //nolint:sqlclosecheck // another goroutine has cached the statement
		return cached, nil
	}
	p.statements[query] = fresh
	return fresh, nil
}
