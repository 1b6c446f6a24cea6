package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/lakewarden/lakewarden/migrations"
)

// epochChannel is the Postgres channel that announces a raised epoch.
const epochChannel = "lakewarden_epoch"

// firstRetry is the time before a watch replaces a lost connection. Each failure
// doubles it, up to the interval of the watch.
const firstRetry = 10 * time.Millisecond

const selectEpoch = "SELECT value FROM catalog_epoch WHERE id = 1"

// Epoch implements [catalog.Epochs].
func (s *DB) Epoch(ctx context.Context) (uint64, error) {
	return One(ctx, s.Read(), Value[uint64], selectEpoch)
}

// Watch implements [catalog.Epochs]. Each watch owns a goroutine, which ends
// with ctx or with the store, and a connection.
func (s *DB) Watch(ctx context.Context) <-chan uint64 {
	epochs := make(chan uint64, 1)
	w := watch{store: s, epochs: epochs}
	s.keepFollowing(ctx, "catalog epoch not confirmed", w.follow, func() { close(epochs) })
	return epochs
}

// keepFollowing calls follow repeatedly in a goroutine until ctx or the store ends, and
// then calls end. follow returns when its connection is lost, and reports whether the
// connection worked before.
//
// Announcements are lost while no connection listens. So a lost connection is replaced
// almost immediately, and so is one that was already dead in the pool. Retries slow
// down only if the server remains unreachable.
func (s *DB) keepFollowing(ctx context.Context, complaint string, follow func(context.Context) (bool, error), end func()) {
	s.closeMu.Lock()
	defer s.closeMu.Unlock()
	if s.closing.Err() != nil {
		end()
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.closing, cancel)
	s.watches.Add(1)
	go func() {
		defer s.watches.Done()
		defer end()
		defer cancel()
		defer stop()
		wait := firstRetry
		for ctx.Err() == nil {
			confirmed, err := follow(ctx)
			if err != nil && ctx.Err() == nil {
				s.logger.LogAttrs(ctx, slog.LevelWarn, complaint, slog.Any("error", err))
			}
			if confirmed {
				wait = firstRetry
			}
			pause(ctx, wait, nil)
			wait = min(2*wait, s.watchInterval)
		}
	}()
}

// watch is the state of one Watch.
type watch struct {
	store  *DB
	epochs chan uint64
}

// send replaces a value that was not received yet.
func (w watch) send(epoch uint64) {
	select {
	case <-w.epochs:
	default:
	}
	w.epochs <- epoch
}

// pause waits for the time to pass, for a poke or for the end of ctx.
func pause(ctx context.Context, wait time.Duration, poked <-chan struct{}) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-poked:
	case <-timer.C:
	}
}

// learn records an epoch that is in the database.
func (s *DB) learn(epoch uint64) {
	for {
		known := s.known.Load()
		if epoch <= known || s.known.CompareAndSwap(known, epoch) {
			return
		}
	}
}

// read reads the epoch. If it is lower than one that was known before, the database was
// replaced by an earlier state: from a backup, or by a standby that lagged behind. Then the
// epoch is raised above the known one, because caches would take answers of the lost state
// for those of the epochs to come.
func (w watch) read(ctx context.Context, conn *sql.Conn) (epoch uint64, err error) {
	known := w.store.known.Load()
	if err := conn.QueryRowContext(ctx, selectEpoch).Scan(&epoch); err != nil {
		return 0, err
	}
	if epoch < known {
		w.store.logger.Warn("the catalog has gone back to an earlier state", "epoch", epoch, "known", known)
		err = w.store.Transact(ctx, func(tx Session) error {
			epoch, err = One(ctx, tx, Value[uint64],
				"UPDATE catalog_epoch SET value = CASE WHEN value > ? THEN value ELSE ? END WHERE id = 1 RETURNING value", known, known+1)
			return err
		})
	}
	if err == nil {
		w.store.learn(epoch)
	}
	return epoch, err
}

// follow confirms the epoch repeatedly on one connection until the connection fails.
// confirmed reports whether it did at least once.
func (w watch) follow(ctx context.Context) (confirmed bool, err error) {
	conn, err := w.store.reads.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer func() {
		// A connection that listens or has failed must not return to the pool.
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = conn.Close()
	}()
	if w.store.dialect.migrations == migrations.SQLite {
		return w.followFile(ctx, conn)
	}
	return w.followServer(ctx, conn)
}

// followFile polls the file's change counter, which costs no disk access and changes
// with commits of all other connections, in this and in other processes.
func (w watch) followFile(ctx context.Context, conn *sql.Conn) (confirmed bool, err error) {
	poked, forget := w.store.pokes.subscribe()
	defer forget()
	seen := int64(-1)
	var epoch uint64
	for ctx.Err() == nil {
		var now int64
		if err := conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&now); err != nil {
			return confirmed, err
		}
		if now != seen {
			if epoch, err = w.read(ctx, conn); err != nil {
				return confirmed, err
			}
			seen = now
		}
		w.send(epoch)
		confirmed = true
		pause(ctx, w.store.watchInterval, poked)
	}
	return confirmed, nil
}

// followServer listens for announcements, and reads the epoch after each one and at
// every interval. If the server does not respond, the read times out, so that no
// outdated epoch is sent.
func (w watch) followServer(ctx context.Context, conn *sql.Conn) (confirmed bool, err error) {
	if _, err := conn.ExecContext(ctx, "LISTEN "+epochChannel); err != nil {
		return false, err
	}
	for ctx.Err() == nil {
		readCtx, done := context.WithTimeout(ctx, 2*time.Second)
		epoch, err := w.read(readCtx, conn)
		done()
		if err != nil {
			return confirmed, err
		}
		w.send(epoch)
		confirmed = true
		if _, err := w.store.announced(ctx, conn); err != nil {
			return confirmed, err
		}
	}
	return confirmed, nil
}

// announced waits for an announcement on a listening connection. It returns "" after an
// interval without one.
func (s *DB) announced(ctx context.Context, conn *sql.Conn) (payload string, err error) {
	err = conn.Raw(func(driverConn any) error {
		waitCtx, done := context.WithTimeout(ctx, s.watchInterval)
		defer done()
		n, err := driverConn.(*stdlib.Conn).Conn().WaitForNotification(waitCtx)
		switch {
		case err == nil:
			payload = n.Payload
		case waitCtx.Err() != nil:
			return nil // the interval passed
		}
		return err
	})
	return payload, err
}

// pokes wakes the watches of this process immediately after its own changes.
type pokes struct {
	mu   sync.Mutex
	subs map[chan struct{}]struct{}
}

func (p *pokes) subscribe() (poked <-chan struct{}, forget func()) {
	c := make(chan struct{}, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.subs == nil {
		p.subs = map[chan struct{}]struct{}{}
	}
	p.subs[c] = struct{}{}
	return c, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.subs, c)
	}
}

func (p *pokes) poke() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.subs {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
