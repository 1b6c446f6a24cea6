package sqlstore

import (
	"context"
	"database/sql"
	"sync"
)

// maxPrepared bounds the statements that are kept. The texts of this package
// with their optional parts are fewer; only long lists of values go beyond.
const maxPrepared = 256

// preparedPool keeps statements prepared, because SQLite spends more time on
// parsing and planning ours than on running them. The Postgres driver does the
// same by itself.
type preparedPool struct {
	*sql.DB
	mu         sync.RWMutex
	statements map[string]*sql.Stmt
}

// QueryContext shadows the pool's.
func (p *preparedPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	statement, err := p.statement(ctx, query) //nolint:sqlclosecheck // kept until the pool ends
	if err != nil {
		return nil, err
	}
	if statement == nil {
		return p.DB.QueryContext(ctx, query, args...)
	}
	return statement.QueryContext(ctx, args...)
}

// statement returns nil when there is no room for one more. Statements end with
// their pool.
func (p *preparedPool) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	p.mu.RLock()
	kept, full := p.statements[query], len(p.statements) >= maxPrepared
	p.mu.RUnlock()
	if kept != nil || full {
		return kept, nil
	}
	fresh, err := p.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if kept := p.statements[query]; kept != nil {
		_ = fresh.Close() //nolint:sqlclosecheck // somebody else was faster; the other path keeps it
		return kept, nil
	}
	p.statements[query] = fresh
	return fresh, nil
}
