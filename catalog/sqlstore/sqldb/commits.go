package sqldb

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/migrations"
)

// commitsChannel is where Postgres announces commits.
const commitsChannel = "lakewarden_commits"

// maxPayload is below the limit of Postgres for the payload of an announcement.
const maxPayload = 7 << 10

// AnnounceCommit implements [catalog.Commits]. If the path is too long for an
// announcement, the announcement stands for any table.
func (s *DB) AnnounceCommit(ctx context.Context, table catalog.CommittedTable) error {
	if s.dialect.migrations == migrations.SQLite {
		return nil
	}
	payload := JSONText(announcement{s.name, table})
	if len(payload) > maxPayload {
		payload = JSONText(announcement{From: s.name})
	}
	return s.Transact(ctx, func(tx Session) error {
		_, err := tx.Exec(ctx, "SELECT pg_notify('"+commitsChannel+"', ?)", payload)
		return err
	})
}

// announcement is the payload on the channel of commits.
type announcement struct {
	From string `json:"from"`
	catalog.CommittedTable
}

// WatchCommits implements [catalog.Commits]. Each watch owns a goroutine, which
// ends with ctx or with the store, and a connection.
func (s *DB) WatchCommits(ctx context.Context) <-chan catalog.CommittedTable {
	w := commitWatch{s, make(chan catalog.CommittedTable)}
	s.keepFollowing(ctx, "announcements of commits not heard", w.follow, func() { close(w.commits) })
	return w.commits
}

type commitWatch struct {
	store   *DB
	commits chan catalog.CommittedTable
}

// follow forwards the announcements on one connection until the connection fails. It
// checks the connection whenever no announcement arrives for an interval.
func (w commitWatch) follow(ctx context.Context) (confirmed bool, err error) {
	if w.store.dialect.migrations == migrations.SQLite {
		w.send(ctx, catalog.CommittedTable{})
		<-ctx.Done()
		return true, nil
	}
	conn, err := w.store.reads.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer func() {
		// A connection that listens or has failed must not return to the pool.
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = conn.Close()
	}()
	if _, err := conn.ExecContext(ctx, "LISTEN "+commitsChannel); err != nil {
		return false, err
	}
	w.send(ctx, catalog.CommittedTable{}) // earlier announcements were missed
	for ctx.Err() == nil {
		payload, err := w.store.announced(ctx, conn)
		if err != nil {
			return true, err
		}
		if payload != "" {
			var a announcement // the zero value, meaning any table, if it cannot be read
			_ = json.Unmarshal([]byte(payload), &a)
			if a.From != w.store.name {
				w.send(ctx, a.CommittedTable)
			}
			continue
		}
		askCtx, done := context.WithTimeout(ctx, 2*time.Second)
		err = conn.PingContext(askCtx)
		done()
		if err != nil {
			return true, err
		}
	}
	return true, nil
}

func (w commitWatch) send(ctx context.Context, table catalog.CommittedTable) {
	select {
	case w.commits <- table:
	case <-ctx.Done():
	}
}
