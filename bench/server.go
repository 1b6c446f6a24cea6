package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Config names the programs and the data of a run.
type Config struct {
	// Lakewarden is the server's binary, Python has duckdb and deltalake, Roapi is
	// the peer's binary, Versitygw is an S3 server.
	Lakewarden, Python, Roapi, Versitygw string
	// Azurite is the script of the blob service, which Node.js runs, FakeGCS a server of
	// Google Cloud Storage, and Rclone the peer's binary.
	Azurite, FakeGCS, Rclone string
	// Loader is the program that loads the snapshots of log workloads.
	Loader string
	// Extensions is DuckDB's extension directory.
	Extensions string
	// Flights is a Parquet file of flights, for workloads that need real rows.
	Flights string
	// Data is the folder of the tables and of a run's temporary files.
	Data string
	// Scale is TPC-H's scale factor.
	Scale string
	// Threads is the number of threads of plain DuckDB. The server uses all
	// processors.
	Threads int
	// ObjectBytes is the maximum size of an object of move workloads, for machines with
	// little space; zero means no maximum.
	ObjectBytes int64
	// Seed replaces the seeds of analysis workloads unless it is zero.
	Seed uint64
	// Settle is the interval at which the memory of an idle server is read; zero
	// means 5 s.
	Settle time.Duration
	// Env is the environment of every process that is started.
	Env []string
	// Progress is called with a line for each step.
	Progress func(format string, args ...any)
}

// logName is the file in a server's directory that holds its output.
const logName = "server.log"

// server is a running Lakewarden with a fresh catalog and one organisation.
type server struct {
	cfg  Config
	dir  string // data directory, logs
	base string // http://…
	env  []string
	proc *child

	organisation, workspace string
	admin                   *client
}

// identity is the output of the bootstrap and user commands.
type identity struct {
	OrganisationID string `json:"organisation_id"`
	WorkspaceID    string `json:"workspace_id"`
	UserID         string `json:"user_id"`
	APIKey         string `json:"api_key"`
}

// startServer starts a server with an empty data directory and the given
// environment variables. The caller stops it.
func startServer(ctx context.Context, cfg Config, settings []string) (*server, error) {
	dir, err := os.MkdirTemp(cfg.Data, "run-")
	if err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	s := &server{cfg: cfg, dir: dir}
	if err := s.start(ctx, settings); err != nil {
		return nil, fmt.Errorf("%w (log: %s)", err, filepath.Join(dir, logName))
	}
	return s, nil
}

func (s *server) start(ctx context.Context, settings []string) error {
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	s.base = "http://" + address
	s.env = append(append([]string{}, s.cfg.Env...),
		"LAKEWARDEN_LISTEN="+address,
		"LAKEWARDEN_DATA_DIR="+filepath.Join(s.dir, "data"),
		"LAKEWARDEN_LOCAL_ROOTS="+s.cfg.Data,
		"LAKEWARDEN_EXTENSION_DIR="+s.cfg.Extensions,
		// Rate limits are not measured.
		"LAKEWARDEN_RATE_PER_MINUTE=1000000", "LAKEWARDEN_RATE_BURST=100000",
	)
	s.env = append(s.env, settings...)
	who, err := s.command(ctx, "bootstrap", "--org", "bench", "--email", "admin@bench.example", "--json")
	if err != nil {
		return err
	}
	s.organisation, s.workspace = who.OrganisationID, who.WorkspaceID
	s.admin = newClient(s.base, who.APIKey)

	s.proc, err = startChild(s.cfg.Lakewarden, []string{"serve"}, s.env, filepath.Join(s.dir, logName))
	if err != nil {
		return err
	}
	if err := s.proc.awaitHTTP(ctx, s.base+"/readyz"); err != nil {
		_ = s.proc.Stop() // the first error is the cause
		return err
	}
	return nil
}

// command runs a command of the binary that prints an identity as JSON.
func (s *server) command(ctx context.Context, args ...string) (identity, error) {
	cmd := exec.CommandContext(ctx, s.cfg.Lakewarden, args...)
	cmd.Env = s.env
	out, err := cmd.Output()
	if err != nil {
		return identity{}, fmt.Errorf("lakewarden %s: %w", args[0], withStderr(err))
	}
	var who identity
	if err := json.Unmarshal(out, &who); err != nil {
		return identity{}, fmt.Errorf("lakewarden %s printed no JSON object: %w", args[0], err)
	}
	return who, nil
}

// addUser adds a viewer and returns a client with the new user's key.
func (s *server) addUser(ctx context.Context, email string) (*client, error) {
	who, err := s.command(ctx, "user", "add", "--org", s.organisation, "--email", email, "--role", "viewer", "--json")
	if err != nil {
		return nil, err
	}
	return newClient(s.base, who.APIKey), nil
}

// storage registers a folder of Delta tables for everyone in the organisation, and
// returns the SQL schema of its tables.
func (s *server) storage(ctx context.Context, name string) (string, error) {
	return s.register(ctx, map[string]any{
		"configName": name, "kind": "local", "root": filepath.Join(s.cfg.Data, name),
	})
}

// remoteStorage is storage for a folder of a bucket.
func (s *server) remoteStorage(ctx context.Context, name string, store *objectStore) (string, error) {
	settings, err := store.config(name)
	if err != nil {
		return "", err
	}
	settings["configName"] = name + " in " + store.kind
	return s.register(ctx, settings)
}

// register creates a storage configuration and discovers its tables.
func (s *server) register(ctx context.Context, settings map[string]any) (string, error) {
	id, schema, err := s.configure(ctx, settings)
	if err != nil {
		return "", err
	}
	return schema, s.admin.call(ctx, http.MethodPost, "/v1/storages/configs/"+id+"/discover", map[string]any{}, nil)
}

// configure creates a storage configuration for everyone in the organisation and returns
// its id and the SQL schema of its tables.
func (s *server) configure(ctx context.Context, settings map[string]any) (id, schema string, err error) {
	var config struct {
		ConfigID string `json:"configId"`
		Schema   string `json:"schema"`
	}
	settings["workspaceId"] = s.workspace
	err = s.admin.call(ctx, http.MethodPost, "/v1/storages/configs", settings, &config)
	return config.ConfigID, config.Schema, err
}

// forget removes the configuration of a schema, so that other copies of its tables are the
// only ones with their ids. The files stay.
func (s *server) forget(ctx context.Context, schema string) error {
	id, err := uuid.Parse(strings.TrimPrefix(schema, "cfg_"))
	if err != nil {
		return fmt.Errorf("schema %s: %w", schema, err)
	}
	return s.remove(ctx, id.String())
}

// remove removes a storage configuration.
func (s *server) remove(ctx context.Context, config string) error {
	return s.admin.call(ctx, http.MethodDelete, "/v1/storages/configs/"+config, nil, nil)
}

// filter adds an enabled row policy with which everyone sees the rows that match f.
func (s *server) filter(ctx context.Context, schema string, f Filter) error {
	return s.admin.call(ctx, http.MethodPost, "/v1/organisations/"+s.organisation+"/policies", map[string]any{
		"tableFqn":   "lake." + schema + "." + f.Table,
		"columnName": f.Column,
		"kind":       "rls",
		"enabled":    true,
		"definition": map[string]any{
			"effect":    "permit",
			"subject":   map[string]any{"everyone": true},
			"condition": map[string]any{"column": f.Column, "op": f.Op, "value": f.Value},
		},
	}, nil)
}

// stop ends the server and removes its data. It keeps the log if keep is set.
func (s *server) stop(keep bool) error {
	err := s.proc.Stop()
	if keep {
		return err
	}
	if removed := os.RemoveAll(s.dir); err == nil && removed != nil {
		err = fmt.Errorf("remove data directory: %w", removed)
	}
	return err
}
