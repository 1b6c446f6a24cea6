package bench

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"
)

// fakeGCS is a server of Google Cloud Storage that keeps objects in memory and accepts
// every token. It has an authority that issues them, because a key of a service account
// names one.
type fakeGCS struct {
	authority *http.Server
	tokens    string // URL of the authority
	done      chan struct{}
}

func (*fakeGCS) command(cfg Config, dir, address string) (program string, args, env []string, err error) {
	host, port, err := net.SplitHostPort(address)
	return cfg.FakeGCS, []string{
		"-scheme", "http", "-host", host, "-port", port, "-external-url", "http://" + address, "-backend", "memory", "-log-level", "error",
		"-data", filepath.Join(dir, "none"), // no such folder: the server begins without objects
	}, nil, err
}

func (*fakeGCS) url(address string) string { return "http://" + address }

func (g *fakeGCS) ready(ctx context.Context, address string) bool {
	return answersOK(ctx, g.url(address)+"/_internal/healthcheck")
}

func (g *fakeGCS) settings(endpoint string) (map[string]any, error) {
	if err := g.issue(); err != nil {
		return nil, err
	}
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	key, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "bench", "private_key_id": "bench", "client_email": "bench@bench.iam.gserviceaccount.com",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": g.tokens,
	})
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return map[string]any{"endpoint": endpoint, "bucket": storeBucket, "serviceAccountKey": string(key)}, nil
}

// issue starts the authority, unless it runs.
func (g *fakeGCS) issue() error {
	if g.authority != nil {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	g.tokens, g.done = "http://"+listener.Addr().String()+"/token", make(chan struct{})
	g.authority = &http.Server{
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mediaJSON)
			_, _ = io.WriteString(w, `{"access_token":"bench","token_type":"Bearer","expires_in":86400}`)
		}),
	}
	go func() {
		defer close(g.done)
		_ = g.authority.Serve(listener) // returns only after Close
	}()
	return nil
}

// Close ends the authority.
func (g *fakeGCS) Close() error {
	if g.authority == nil {
		return nil
	}
	err := g.authority.Close()
	<-g.done
	return err
}

func (*fakeGCS) remote(endpoint string) map[string]string {
	return map[string]string{
		"type": "google cloud storage", "anonymous": "true", "endpoint": endpoint + "/storage/v1/", "project_number": "bench",
	}
}
