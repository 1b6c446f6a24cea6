package bench

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"time"
)

//go:embed data/allowedvalues.py
var allowedValuesScript string

// AllowedValues describes the reference domain and the requests of an allowed workload.
type AllowedValues struct {
	// Count is the number of values in the table that the domain refers to.
	Count int `json:"count"`
	// Prefix is what the requested values begin with. At least Page values do.
	Prefix string `json:"prefix"`
	// Page is the number of values of a request.
	Page int `json:"page"`
}

// allowed requests the first page of the values of a reference domain, and compares the
// time with that of the same statement in plain DuckDB, in turn.
func (r *runner) allowed(ctx context.Context) error {
	in, folder := *r.workload.Allowed, "allowed-"+strconv.Itoa(r.workload.Allowed.Count)
	if err := script(ctx, r.cfg, allowedValuesScript, filepath.Join(r.cfg.Data, folder), strconv.Itoa(in.Count)); err != nil {
		return err
	}
	schema, err := r.server.storage(ctx, folder)
	if err != nil {
		return err
	}
	column := "/v1/tables/lake/" + schema + "/used/columns/value/"
	reference := map[string]any{"table_path": "lake." + schema + ".source", "column": "value"}
	if err := r.server.admin.call(ctx, http.MethodPut, column+"domain/reference", reference, nil); err != nil {
		return err
	}
	peer, err := startDuckDB(ctx, r.cfg, plainTables{folder: folder, mode: modeAttached})
	if err != nil {
		return err
	}
	defer func() { _ = peer.Close() }()
	statement := Statement{
		SQL: "SELECT DISTINCT value FROM source WHERE value IS NOT NULL AND value >= ? AND starts_with(value, ?) ORDER BY value LIMIT ?",
		// The server requests one more value to learn whether another page follows.
		Args: []any{in.Prefix, in.Prefix, in.Page + 1},
	}
	path := column + "allowed-values?" + url.Values{"q": {in.Prefix}, "page_size": {strconv.Itoa(in.Page)}}.Encode()
	var served, plain Samples
	for round := range r.workload.Warmup + r.workload.Runs {
		var reply struct {
			Values []struct{} `json:"allowed_values"`
		}
		start := time.Now()
		if err := r.user.call(ctx, http.MethodGet, path, nil, &reply); err != nil {
			return err
		}
		elapsed := time.Since(start)
		answer, err := peer.Ask(ctx, statement)
		switch {
		case err != nil:
			return fmt.Errorf("plain DuckDB: %w", err)
		case len(reply.Values) != in.Page || answer.Rows != int64(in.Page)+1:
			return fmt.Errorf("%d values, and %d rows of plain DuckDB", len(reply.Values), answer.Rows)
		case round >= r.workload.Warmup:
			served, plain = append(served, millis(elapsed)), append(plain, millis(answer.Total))
		}
	}
	r.out.add("p50."+subjectServer, served.Median(), "ms")
	r.out.add("p50."+peerDuckDB, plain.Median(), "ms")
	r.out.addRelative("ratio."+peerDuckDB, served.Median()/plain.Median(), false)
	return nil
}
