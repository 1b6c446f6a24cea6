package bench

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

//go:embed data/plain.py
var plainScript string

// How plain DuckDB reads a table; see data/plain.py.
const (
	modeScan     = "scan"
	modeAttached = "attached"
	modeCopied   = "copied"
)

// plainDuckDB is DuckDB in a Python process, which runs one statement at a time.
// Times are measured inside that process and do not include the pipe.
type plainDuckDB struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	stops context.CancelFunc
}

// plainReply is one line of the script.
type plainReply struct {
	Ready   string  `json:"ready"`
	Seconds float64 `json:"seconds"`
	First   float64 `json:"first"`
	Rows    int64   `json:"rows"`
	Read    int64   `json:"read"`
	Error   string  `json:"error"`
}

// plainTables says which tables plain DuckDB reads, and how.
type plainTables struct {
	folder   string // below the data folder, or in the bucket
	mode     string
	filters  []Filter
	endpoint string // URL of the S3 server with the bucket; empty means that the tables are on disk
}

// startDuckDB opens plain DuckDB over the tables of a folder.
func startDuckDB(ctx context.Context, cfg Config, from plainTables) (*plainDuckDB, error) {
	tables, err := tableFolders(filepath.Join(cfg.Data, from.folder))
	if err != nil {
		return nil, err
	}
	predicates := map[string]string{}
	for _, f := range from.filters {
		predicates[f.Table] = f.SQL
	}
	settings := map[string]any{
		"extensions": cfg.Extensions, "threads": cfg.Threads,
		"tables": tables, "filters": predicates, "mode": from.mode,
	}
	if from.endpoint != "" {
		for name := range tables {
			tables[name] = "s3://" + path.Join(storeBucket, from.folder, name)
		}
		settings["s3"] = map[string]string{
			"endpoint": strings.TrimPrefix(from.endpoint, "http://"), "region": storeRegion, "key": s3KeyID, "secret": s3Secret,
		}
	}
	config, err := json.Marshal(settings)
	if err != nil {
		return nil, fmt.Errorf("encode configuration: %w", err)
	}

	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, cfg.Python, "-c", plainScript, string(config))
	cmd.Env, cmd.Stderr = cfg.Env, os.Stderr
	p := &plainDuckDB{cmd: cmd, stops: cancel}
	if err := p.start(); err != nil {
		cancel()
		return nil, fmt.Errorf("start plain DuckDB: %w", err)
	}
	return p, nil
}

func (p *plainDuckDB) start() error {
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.in, p.out = in, bufio.NewReader(out)
	reply, err := p.read()
	if err == nil && reply.Ready == "" {
		err = errors.New("the script did not say that it is ready")
	}
	if err != nil {
		return errors.Join(err, p.Close())
	}
	return nil
}

// visibleRows is plain DuckDB over tables that hold only the rows that the filters show.
type visibleRows struct{ *plainDuckDB }

// Name is the name in reports.
func (visibleRows) Name() string { return peerVisible }

// Name is the peer's name in reports.
func (p *plainDuckDB) Name() string { return peerDuckDB }

// Ask runs a statement up to its last Arrow batch.
func (p *plainDuckDB) Ask(_ context.Context, st Statement) (Answer, error) {
	line, err := json.Marshal(map[string]any{"sql": st.SQL, "args": st.Args})
	if err != nil {
		return Answer{}, fmt.Errorf("encode statement: %w", err)
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return Answer{}, fmt.Errorf("send statement: %w", err)
	}
	reply, err := p.read()
	if err != nil {
		return Answer{}, err
	}
	return Answer{
		Total: time.Duration(reply.Seconds * float64(time.Second)),
		First: time.Duration(reply.First * float64(time.Second)),
		Rows:  reply.Rows,
		Bytes: reply.Read,
	}, nil
}

func (p *plainDuckDB) read() (plainReply, error) {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return plainReply{}, fmt.Errorf("read answer: %w", err)
	}
	var reply plainReply
	if err := json.Unmarshal(line, &reply); err != nil {
		return plainReply{}, fmt.Errorf("decode answer: %w", err)
	}
	if reply.Error != "" {
		return plainReply{}, errors.New(reply.Error)
	}
	return reply, nil
}

// Close ends the process.
func (p *plainDuckDB) Close() error {
	defer p.stops()
	if err := p.in.Close(); err != nil {
		return fmt.Errorf("close input: %w", err)
	}
	return p.cmd.Wait()
}

// tableFolders returns the folders of tables by table name.
func tableFolders(root string) (map[string]string, error) {
	logs, err := filepath.Glob(filepath.Join(root, "*", "_delta_log"))
	if err != nil || len(logs) == 0 {
		return nil, fmt.Errorf("no Delta table in %s: %w", root, os.ErrNotExist)
	}
	tables := map[string]string{}
	for _, log := range logs {
		table := filepath.Dir(log)
		tables[filepath.Base(table)] = table
	}
	return tables, nil
}
