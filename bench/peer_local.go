package bench

import (
	"context"
	"errors"
	"fmt"
)

// localServer is a second server over the same tables on disk, for a workload with
// remote tables. The servers share neither caches nor sessions.
type localServer struct {
	Subject
	server *server
}

// startLocal starts a server over the workload's tables on disk.
func (r *runner) startLocal(ctx context.Context) (*localServer, error) {
	s, err := startServer(ctx, r.cfg, nil)
	if err != nil {
		return nil, fmt.Errorf("start local server: %w", err)
	}
	user, err := r.analyst(ctx, s, nil)
	if err != nil {
		return nil, errors.Join(err, s.stop(true))
	}
	return &localServer{Subject: renamed{user, peerLocal}, server: s}, nil
}

// Close ends the server and removes its data.
func (s *localServer) Close() error { return s.server.stop(false) }
