package worker

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"

	"github.com/lakewarden/lakewarden/engine"
)

// ControlFD is the file descriptor of a child's control socket.
const ControlFD = 3

// Serve is the child's side: it makes its engine from the setup that the parent sends, and serves
// it until the parent closes the connection or ctx ends. It closes the engine before it returns.
// temp is the directory for the engine's files; the parent removes it after the process has ended,
// however it ended.
//
// Serve sets limits for the whole process, so a program calls it once and does nothing else.
func Serve(ctx context.Context, control *os.File, build func(ctx context.Context, setup []byte, temp string) (engine.Engine, error)) error {
	harden()
	w, err := wireOf(control)
	if err != nil {
		return err
	}
	defer w.close()
	eng, err := prepare(ctx, w, build)
	if err != nil {
		return err
	}
	s := &server{engine: eng, open: map[*wire]struct{}{}}
	defer context.AfterFunc(ctx, func() { w.close() })()
	err = s.run(w)
	if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, eng.Close())
}

// prepare replies to the parent's first message.
func prepare(ctx context.Context, w *wire, build func(context.Context, []byte, string) (engine.Engine, error)) (engine.Engine, error) {
	eng, err := func() (engine.Engine, error) {
		f, err := w.receive()
		if err != nil {
			return nil, err
		}
		var m setupMessage
		if decode(f.head, &m) != nil || f.kind != kindSetup || m.Protocol != protocol {
			return nil, internalError("worker_protocol", "parent and child are of different builds")
		}
		temp, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		return build(ctx, m.Setup, temp)
	}()
	if err != nil {
		return eng, errors.Join(err, answer(w, 0, false, err))
	}
	return eng, w.send(kindDone, 0, nil)
}

// answer ends a request with an error.
func answer(w *wire, seq uint32, broken bool, err error) error {
	return w.send(kindFailed, seq, encode(newFailure(broken, err)))
}

// server serves the links of one child.
type server struct {
	engine engine.Engine

	mu    sync.Mutex
	open  map[*wire]struct{}
	links sync.WaitGroup
}

// run accepts links until the control socket ends, and then closes them.
func (s *server) run(control *wire) error {
	defer s.links.Wait()
	defer s.shut()
	for {
		f, err := control.accept()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return err
		}
		w, err := wireOf(f)
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.open[w] = struct{}{}
		s.mu.Unlock()
		s.links.Go(func() {
			defer func() {
				s.mu.Lock()
				delete(s.open, w)
				s.mu.Unlock()
				w.close()
			}()
			serveLink(w, s.engine)
		})
	}
}

// shut closes all links: each stops its request.
func (s *server) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.open {
		w.close()
	}
}
