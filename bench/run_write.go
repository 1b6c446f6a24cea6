package bench

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

//go:embed data/written.py
var writtenScript string

// Write describes the work of a write workload on lineitem, which is sorted by its
// key. The server enforces the key, unless the workload is about domains.
type Write struct {
	// Operation is merge, which delta-rs does too, or insert.
	Operation string `json:"operation"`
	// Files is the table's number of files, Rows the request's number of rows. The
	// middle of the table is inside a file if the number of files is odd.
	Files int `json:"files"`
	Rows  int `json:"rows"`
	// Spread takes rows from all files; otherwise they are adjacent.
	Spread bool `json:"spread"`
	// Domains compares an insert into a table whose columns have domains with one into
	// a table without, both by the server.
	Domains bool `json:"domains"`
}

// written holds the costs and the result of one write.
type written struct {
	Seconds  float64 `json:"seconds"`
	Inserted int     `json:"inserted"`
	Updated  int     `json:"updated"`
}

// did returns an error if not all rows were written.
func (w Write) did(done written) error {
	updated := 0
	if w.Operation == "merge" {
		updated = w.Rows * 9 / 10
	}
	if done.Updated != updated || done.Inserted != w.Rows-updated {
		return fmt.Errorf("%d rows updated and %d inserted of %d", done.Updated, done.Inserted, w.Rows)
	}
	return nil
}

// write lets the server and, for a merge, delta-rs write the same rows to copies of
// one table, in turn.
func (r *runner) write(ctx context.Context) error {
	w := *r.workload.Write
	template := filepath.Join(r.cfg.Data, "written", "lineitem-"+strconv.Itoa(w.Files))
	if err := script(ctx, r.cfg, writtenScript, "make", template, strconv.Itoa(w.Files),
		filepath.Join(r.cfg.Data, folderTPCH, "lineitem")); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(r.cfg.Data, "copies-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // copies
	rows := filepath.Join(dir, "rows.parquet")
	if err := script(ctx, r.cfg, writtenScript, "rows", rows, template, w.Operation, strconv.FormatBool(w.Spread),
		strconv.Itoa(w.Rows)); err != nil {
		return err
	}
	subjects := r.writers()
	taken := make([]Samples, len(subjects))
	for round := range r.workload.Warmup + r.workload.Runs {
		r.cfg.Progress("%s: round %d", r.workload.Name, round+1)
		for i, s := range subjects {
			root := filepath.Join(dir, fmt.Sprintf("%s-%d", s.name, round))
			done, err := r.writeCopy(ctx, s, template, root, rows)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if round >= r.workload.Warmup {
				taken[i] = append(taken[i], 1000*done.Seconds)
			}
		}
	}
	for i, s := range subjects {
		r.out.add("p50."+s.name, taken[i].Median(), "ms")
	}
	switch {
	case w.Domains:
		r.out.addRelative("ratio.domains", taken[1].Median()/taken[0].Median(), false)
		return nil
	case w.Operation == "merge": // its join on the key is the check
		r.out.addRelative("ratio."+peerDeltaRS, taken[0].Median()/taken[1].Median(), false)
		return nil
	}
	read, err := r.server.keyFiles()
	if err != nil {
		return err
	}
	r.out.add("key_files", read/float64(r.workload.Warmup+r.workload.Runs), "files")
	return nil
}

// writers returns the subjects of the workload.
func (r *runner) writers() []writer {
	through := func(rules rules) func(context.Context, string, string) (written, error) {
		return func(ctx context.Context, root, rows string) (written, error) {
			return r.writeServer(ctx, root, rows, rules)
		}
	}
	switch w := r.workload.Write; {
	case w.Domains:
		return []writer{{"open", through(rules{})}, {"restricted", through(rules{r.restrict, r.release})}}
	case w.Operation == "merge":
		return []writer{{subjectServer, through(rules{before: r.declareKey})}, {peerDeltaRS, r.writePeer}}
	}
	return []writer{{subjectServer, through(rules{before: r.declareKey})}}
}

// writer writes the rows of a file to the table below a folder.
type writer struct {
	name string
	run  func(ctx context.Context, root, rows string) (written, error)
}

// writeCopy runs one write on a copy of the table, which it removes afterwards.
func (r *runner) writeCopy(ctx context.Context, s writer, template, root, rows string) (done written, err error) {
	if err := script(ctx, r.cfg, maintainedScript, "copy", template, filepath.Join(root, "t")); err != nil {
		return done, err
	}
	if done, err = s.run(ctx, root, rows); err != nil {
		return done, err
	}
	if err := r.workload.Write.did(done); err != nil {
		return done, err
	}
	return done, os.RemoveAll(root)
}

// parquetType is the media type of the rows.
const parquetType = "application/vnd.apache.parquet"

// rules give a table its rules before the measurement, and take those away afterwards that
// would apply to other copies of the table. A nil function does nothing.
type rules struct {
	before, after func(ctx context.Context, table, schema string) error
}

// writeServer lets the server write to a table with rules.
func (r *runner) writeServer(ctx context.Context, root, rows string, rules rules) (done written, err error) {
	if r.workload.Write.Domains {
		if err := script(ctx, r.cfg, maintainedScript, "copy", filepath.Join(r.cfg.Data, folderTPCH, "part"),
			filepath.Join(root, "part")); err != nil {
			return done, err
		}
	}
	relative, err := filepath.Rel(r.cfg.Data, root)
	if err != nil {
		return done, err
	}
	schema, err := r.server.storage(ctx, relative)
	if err != nil {
		return done, err
	}
	table := "/v1/tables/lake/" + schema + "/t"
	if rules.before != nil {
		if err := rules.before(ctx, table, schema); err != nil {
			return done, err
		}
		// The rules are checked; the server releases the memory for that.
		if err := r.server.rested(ctx); err != nil {
			return done, err
		}
	}
	path := table + "/rows"
	if r.workload.Write.Operation == "merge" {
		path += "/merge"
	}
	if r.workload.Write.Domains {
		// The first write after a change of domains reads their values from the catalog.
		if err := r.server.admin.send(ctx, path, parquetType, rows, &done); err != nil {
			return done, err
		}
	}
	start := time.Now()
	err = r.server.admin.send(ctx, path, parquetType, rows, &done)
	done.Seconds = time.Since(start).Seconds()
	if err == nil && rules.after != nil {
		err = rules.after(ctx, table, schema)
	}
	if err == nil {
		err = r.server.forget(ctx, schema)
	}
	return done, err
}

// declareKey declares the primary key.
func (r *runner) declareKey(ctx context.Context, table, _ string) error {
	key := map[string]any{"columns": []string{"l_orderkey", "l_linenumber"}}
	return r.server.admin.call(ctx, http.MethodPut, table+"/primary-key", key, nil)
}

// domainValues is the number of values of the listed domain of [runner.restrict], the
// largest one that is allowed.
const domainValues = 10_000

// restrict gives three columns a domain: a list of values, pairs, and the keys of another
// table.
func (r *runner) restrict(ctx context.Context, table, schema string) error {
	suppliers := make([]string, domainValues)
	for i := range suppliers {
		suppliers[i] = strconv.Itoa(i + 1)
	}
	var flags []map[string]any
	for _, flag := range []string{"A", "N", "R"} {
		flags = append(flags, map[string]any{"value": flag, "children": []string{"F", "O"}})
	}
	for _, d := range []struct {
		path string
		body map[string]any
	}{
		{"l_suppkey/domain/fixed", map[string]any{"values": suppliers}},
		{"l_linestatus/domain/hierarchical/inline", map[string]any{"parent_column": "l_returnflag", "parents": flags}},
		{"l_partkey/domain/reference", map[string]any{"table_path": "lake." + schema + ".part", "column": "p_partkey"}},
	} {
		if err := r.server.admin.call(ctx, http.MethodPut, table+"/columns/"+d.path, d.body, nil); err != nil {
			return err
		}
	}
	return nil
}

// release removes the domains of [runner.restrict].
func (r *runner) release(ctx context.Context, table, _ string) error {
	for _, column := range []string{"l_suppkey", "l_linestatus", "l_partkey"} {
		if err := r.server.admin.call(ctx, http.MethodDelete, table+"/columns/"+column+"/domain", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// send posts a file and decodes the response.
func (c *client) send(ctx context.Context, path, media, file string, reply any) error {
	body, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("open body: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, body) // which closes body
	if err != nil {
		return fmt.Errorf("build request: %w", err)
	}
	request.Header = c.header.Clone()
	request.Header.Set("Content-Type", media)
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("POST %s: %w", path, statusError(response))
	}
	if err := json.NewDecoder(response.Body).Decode(reply); err != nil {
		return fmt.Errorf("decode answer of POST %s: %w", path, err)
	}
	return nil
}

// keyFiles returns the number of data files that checks of keys have read so far.
// It reads the server's log because metrics do not reveal it.
func (s *server) keyFiles() (sum float64, err error) {
	text, err := os.ReadFile(filepath.Join(s.dir, logName))
	if err != nil {
		return 0, fmt.Errorf("read the server's log: %w", err)
	}
	found := false
	for line := range strings.Lines(string(text)) {
		var entry struct {
			Message string  `json:"msg"`
			Files   float64 `json:"files"`
		}
		if json.Unmarshal([]byte(line), &entry) != nil || entry.Message != "keys checked" {
			continue
		}
		sum, found = sum+entry.Files, true
	}
	if !found {
		return 0, errors.New("the server's log has no check of keys")
	}
	return sum, nil
}

// writePeer lets delta-rs merge in a separate process.
func (r *runner) writePeer(ctx context.Context, root, rows string) (done written, err error) {
	err = r.runPython(ctx, &done, writtenScript, "merge", filepath.Join(root, "t"), rows)
	return done, err
}
