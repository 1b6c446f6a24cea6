package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
)

// roapi is the peer server. It reads the same tables from disk.
type roapi struct {
	proc *child
	dir  string
	url  string
	http *http.Client
}

func startRoapi(ctx context.Context, cfg Config, folder string) (*roapi, error) {
	tables, err := tableFolders(filepath.Join(cfg.Data, folder))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(cfg.Data, "roapi-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	r := &roapi{dir: dir, http: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	if err := r.start(ctx, cfg, tables); err != nil {
		return nil, errors.Join(fmt.Errorf("start roapi: %w", err), os.RemoveAll(dir))
	}
	return r, nil
}

func (r *roapi) start(ctx context.Context, cfg Config, tables map[string]string) error {
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	r.url = "http://" + address
	var entries []map[string]any
	for name, path := range tables {
		entries = append(entries, map[string]any{
			"name": name, "uri": path,
			"option": map[string]any{"format": "delta", "use_memory_table": false},
		})
	}
	// The configuration is YAML, a superset of JSON.
	config, err := json.Marshal(map[string]any{"addr": map[string]any{"http": address}, "tables": entries})
	if err != nil {
		return fmt.Errorf("encode configuration: %w", err)
	}
	file := filepath.Join(r.dir, "roapi.yml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	// Ports of protocols that are not measured: any free ones.
	args := []string{"-c", file, "-p", "127.0.0.1:0", "--addr-flight-sql", "127.0.0.1:0"}
	r.proc, err = startChild(cfg.Roapi, args, cfg.Env, filepath.Join(r.dir, "roapi.log"))
	if err != nil {
		return err
	}
	if err := r.proc.awaitHTTP(ctx, r.url+"/health"); err != nil {
		return errors.Join(err, r.proc.Stop())
	}
	return nil
}

// Name is the peer's name in reports.
func (r *roapi) Name() string { return peerRoapi }

// Ask sends a statement and reads the result as an Arrow stream.
func (r *roapi) Ask(ctx context.Context, st Statement) (Answer, error) {
	if len(st.Args) > 0 {
		return Answer{}, errors.New("roapi takes no parameters")
	}
	return askArrow(ctx, r.http, http.MethodPost, r.url+"/api/sql", http.Header{}, []byte(st.SQL))
}

// Close ends the process and removes its files.
func (r *roapi) Close() error {
	return errors.Join(r.proc.Stop(), os.RemoveAll(r.dir))
}
