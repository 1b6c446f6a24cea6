package mirrortest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// mirror keeps a folder and a bucket alike.
type mirror struct {
	folder, scratch string
	bucket          objstore.Bucket
	// target is the address of the server.
	target string
	// objects is the path of the URLs of objects.
	objects string

	mu sync.Mutex
	// known are the files as they were when the bucket last had the same content, by name.
	known map[string]state
}

// state tells one content of a file from another. Tests choose the time of the modification, but
// not that of the last change of the file or its attributes.
type state struct {
	size              int64
	modified, changed time.Time
}

func stateOf(path string) (state, error) {
	var found unix.Stat_t
	err := unix.Stat(path, &found)
	return state{found.Size, time.Unix(found.Mtim.Unix()), time.Unix(found.Ctim.Unix())}, err
}

// start starts the proxy of a mirror and returns its address. Both end with the test, as does the
// direct way to the bucket, which was opened with err.
func start(tb testing.TB, direct store, err error, target, objects string) (folder, address string) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("open a bucket: %v", err)
	}
	tb.Cleanup(func() { _ = direct.Close() })
	dir := tb.TempDir()
	m := &mirror{
		folder: filepath.Join(dir, "objects"), scratch: filepath.Join(dir, "scratch"), bucket: direct,
		target: target, objects: objects, known: map[string]state{},
	}
	for _, made := range []string{m.folder, m.scratch} {
		if err := os.Mkdir(made, 0o755); err != nil {
			tb.Fatalf("make a folder: %v", err)
		}
	}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}
	forward := &httputil.ReverseProxy{Transport: transport, Rewrite: m.rewrite, ModifyResponse: m.reply}
	forward.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A client that leaves meanwhile does not stop what others wait for.
		if err := m.push(context.WithoutCancel(r.Context())); err != nil {
			http.Error(w, "mirror: "+err.Error(), http.StatusInternalServerError)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	tb.Cleanup(transport.CloseIdleConnections)
	tb.Cleanup(server.Close)
	return m.folder, server.Listener.Addr().String()
}

// rewrite addresses a request to the server. The header Host stays as it is, because the server
// names the URL at which an upload continues by it.
func (m *mirror) rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.Scheme, r.Out.URL.Host = "http", m.target
}

// push copies files that have changed into the bucket and deletes objects whose files are gone.
func (m *mirror) push(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[string]state{}
	err := filepath.WalkDir(m.folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err != nil || entry.IsDir() {
			return err
		}
		now, err := stateOf(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		name, relative := filepath.Rel(m.folder, path)
		found[name] = now
		return errors.Join(err, relative)
	})
	for name, now := range found {
		if err == nil && m.known[name] != now {
			err = m.put(ctx, name, now)
		}
	}
	for name := range m.known {
		if _, stays := found[name]; err == nil && !stays {
			if err = m.bucket.Delete(ctx, name); err == nil {
				delete(m.known, name)
			}
		}
	}
	return err
}

// put copies a file into the bucket. The caller holds the lock.
func (m *mirror) put(ctx context.Context, name string, now state) error {
	content, err := os.ReadFile(filepath.Join(m.folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	if err := m.bucket.Put(ctx, name, bytes.NewReader(content), int64(len(content))); err != nil {
		return err
	}
	m.known[name] = now
	return nil
}

// reply does what has to be done before the reply of the server is forwarded.
func (m *mirror) reply(r *http.Response) error {
	if r.StatusCode >= http.StatusMultipleChoices {
		return nil
	}
	if method := r.Request.Method; method == http.MethodGet || method == http.MethodHead {
		return m.date(r)
	}
	return m.pull(r)
}

// pull copies the object that a request has changed into the folder, or deletes its file.
func (m *mirror) pull(r *http.Response) error {
	name, err := m.changed(r)
	if err != nil || name == "" {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	path := filepath.Join(m.folder, filepath.FromSlash(name))
	body, err := m.bucket.Get(r.Request.Context(), name)
	if errors.Is(err, objstore.ErrNotFound) {
		delete(m.known, name)
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer body.Close()
	return m.write(path, name, body)
}

// write replaces a file by the content of an object. The caller holds the lock.
func (m *mirror) write(path, name string, body io.Reader) error {
	file, err := os.CreateTemp(m.scratch, "object-")
	if err != nil {
		return err
	}
	_, err = io.Copy(file, body)
	if err := errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	m.known[name], err = stateOf(path)
	return err
}

// changed returns the name of the object that a request has changed, or the empty string. Its path
// has it, or the reply describes the object.
func (m *mirror) changed(r *http.Response) (string, error) {
	if name, ok := strings.CutPrefix(r.Request.URL.Path, m.objects); ok && !strings.Contains(name, "/rewriteTo/") {
		return name, nil
	}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return "", nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	replaceBody(r, body)
	var reply struct {
		Name     string
		Resource struct{ Name string }
	}
	if json.Unmarshal(body, &reply) != nil {
		return "", nil
	}
	if reply.Name == "" {
		return reply.Resource.Name, nil
	}
	return reply.Name, nil
}
