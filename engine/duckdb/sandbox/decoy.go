package sandbox

import (
	"bufio"
	"context"
	"net"
	"net/textproto"
	"strings"
	"sync"

	"github.com/lakewarden/lakewarden/engine"
)

// decoy is an endpoint that answers for every address during a probe: it has an object under
// every name and records the requests.
type decoy struct {
	listener  net.Listener
	accepting sync.WaitGroup
	serving   sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	asked []string
}

// The key of the probed session, and what it may read.
const (
	decoyKey    = "LWPROBE"
	decoyPrefix = "s3://probe/root/"
)

func newDecoy(ctx context.Context) (*decoy, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &decoy{listener: listener}
	d.accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			d.mu.Lock()
			d.conns = append(d.conns, conn)
			d.mu.Unlock()
			d.serving.Go(func() { d.serve(conn) })
		}
	})
	return d, nil
}

// remote lets a session read decoyPrefix.
func (d *decoy) remote() *engine.Remote {
	return &engine.Remote{
		Endpoint: d.listener.Addr().String(), Region: "probe",
		AccessKey: decoyKey, SecretKey: "probe-secret", Prefixes: []string{decoyPrefix},
	}
}

// serve answers requests with an object of two bytes.
func (d *decoy) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := textproto.NewReader(bufio.NewReader(conn))
	for {
		line, err := in.ReadLine()
		if err != nil {
			return
		}
		header, err := in.ReadMIMEHeader()
		if err != nil {
			return
		}
		d.remember(line, header.Get("Authorization"))
		answer := "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-1/2\r\nContent-Length: 2\r\n\r\n"
		if !strings.HasPrefix(line, "HEAD ") {
			answer += "1\n"
		}
		if _, err := conn.Write([]byte(answer)); err != nil {
			return
		}
	}
}

// remember records a request as its name and its key.
func (d *decoy) remember(line, authorization string) {
	name := strings.TrimSuffix(line, " HTTP/1.1")
	_, name, _ = strings.Cut(name, " ")
	_, key, _ := strings.Cut(authorization, "Credential=")
	key, _, _ = strings.Cut(key, "/")
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, name+" "+key)
}

// take returns the requests since the last call.
func (d *decoy) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	asked := d.asked
	d.asked = nil
	return asked
}

// close ends all connections.
func (d *decoy) close() {
	_ = d.listener.Close()
	d.accepting.Wait()
	d.mu.Lock()
	for _, conn := range d.conns {
		_ = conn.Close()
	}
	d.mu.Unlock()
	d.serving.Wait()
}
