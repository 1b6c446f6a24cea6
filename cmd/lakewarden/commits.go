package main

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops"
	"github.com/lakewarden/lakewarden/catalog"
)

// followCommits lets the lakes of replicas tell each other of commits to remote
// tables, which each would otherwise look for once a second.
func followCommits(ctx context.Context, store catalog.Commits, lake *ops.Lake, s *service) {
	ctx, stop := context.WithCancel(ctx)
	lake.Announce = store.AnnounceCommit
	done := make(chan struct{})
	go func() {
		defer close(done)
		lake.Follow(store.WatchCommits(ctx))
	}()
	s.onClose(func(context.Context) error {
		stop()
		<-done
		return nil
	})
}
