package access_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/opstest"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// counted opens local configurations and counts them. It returns no bucket before it has been asked
// for as many as meeting says.
type counted struct {
	meeting int

	mu     sync.Mutex
	opened int
	met    chan struct{}
}

func (c *counted) Bucket(ctx context.Context, config catalog.StorageConfig) (objstore.Bucket, error) {
	c.mu.Lock()
	if c.opened++; c.opened == c.meeting {
		close(c.met)
	}
	c.mu.Unlock()
	if c.meeting > 0 {
		select {
		case <-c.met:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return file.New(strings.TrimPrefix(string(config.Location), "file://"))
}

// TestManyRegistrationsAreJudgedWithFewLogs checks that the logs of a configuration's tables are
// read only if the policies do not decide, and then several at once.
func TestManyRegistrationsAreJudgedWithFewLogs(t *testing.T) {
	const tables = 8
	everyTable := func(l *opstest.Lake, kind catalog.PolicyKind, column, text string) {
		_, err := l.Store.CreatePolicy(authz.System(t.Context(), "test"), catalog.NewPolicy{Org: l.Org.ID, By: l.Org.Owner,
			PolicySpec: catalog.PolicySpec{Column: column, Kind: kind, Text: text, Enabled: true}})
		require.NoError(t, err)
	}
	for name, c := range map[string]struct {
		policy  func(*opstest.Lake)
		meeting int // 0: no log is read
		want    error
	}{
		"no policy": {func(*opstest.Lake) {}, 0, nil},
		"the role sees all": {func(l *opstest.Lake) {
			everyTable(l, catalog.PolicyRows, "", `permit (principal in Role::"builder", action, resource);`)
			everyTable(l, catalog.PolicyColumn, "n", hideFromViewers[:strings.Index(hideFromViewers, "secret")]+`n");`)
		}, 0, nil},
		"a hidden column that the tables lack": {func(l *opstest.Lake) {
			everyTable(l, catalog.PolicyColumn, "pay", `forbid (principal, action, resource == Column::"pay");`)
		}, tables, nil},
		"a hidden column that the tables have": {func(l *opstest.Lake) {
			everyTable(l, catalog.PolicyColumn, "n", `forbid (principal, action, resource == Column::"n");`)
		}, tables, access.ErrPartlyVisible},
	} {
		t.Run(name, func(t *testing.T) {
			l := opstest.New(t)
			for i := range tables {
				l.Create("t"+string(rune('a'+i)), column("n", "long"))
			}
			c.policy(l)
			stores := &counted{meeting: c.meeting, met: make(chan struct{})}
			judging := access.New(l.Store, lake.New(stores, delta.Options{}), access.Options{Permissions: l.Store})
			builder := l.Member(catalog.RoleBuilder)
			ctx, cancel := context.WithTimeout(builder, time.Minute)
			defer cancel()
			require.ErrorIs(t, judging.JudgeRegistrations(ctx, l.Caller(builder), l.Config.ID), c.want)
			require.NoError(t, ctx.Err(), "the logs are read one after another")
			if c.meeting == 0 {
				require.Zero(t, stores.opened)
			}
		})
	}
}
