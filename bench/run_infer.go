package bench

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

//go:embed data/flightscsv.py
var flightsCSVScript string

// Inference describes the file of an infer workload: flights, repeated.
type Inference struct {
	Bytes int64 `json:"bytes"`
}

// infer uploads a file for inference and compares the time with that of plain DuckDB's own
// reading of the whole file, in a fresh process.
func (r *runner) infer(ctx context.Context) error {
	file := filepath.Join(r.cfg.Data, "csv", fmt.Sprintf("flights-%d.csv", r.workload.Inference.Bytes))
	err := script(ctx, r.cfg, flightsCSVScript, "make", r.cfg.Flights, file, strconv.FormatInt(r.workload.Inference.Bytes, 10))
	if err != nil {
		return err
	}
	before, err := usage(r.server.proc.PID())
	if err != nil {
		return err
	}
	var growth, rows int64
	var served, plain Samples
	for round := range r.workload.Warmup + r.workload.Runs {
		r.cfg.Progress("%s: round %d", r.workload.Name, round+1)
		elapsed, expected, err := r.readCSV(ctx, file)
		if err != nil {
			return err
		}
		stop := watch(ctx, r.server.proc.PID(), 10*time.Millisecond)
		begun := time.Now()
		rows, err = r.server.admin.inferSchema(ctx, file)
		total := time.Since(begun)
		growth = max(growth, stop()-before.RSS)
		switch {
		case err != nil:
			return err
		case rows != expected:
			return fmt.Errorf("%d rows, but plain DuckDB reads %d", rows, expected)
		case round >= r.workload.Warmup:
			served, plain = append(served, millis(total)), append(plain, millis(elapsed))
		}
	}
	r.out.add("rows", float64(rows), "")
	r.out.add("p50."+subjectServer, served.Median(), "ms")
	r.out.add("p50."+peerDuckDB, plain.Median(), "ms")
	r.out.add("rss_growth", megabytes(growth), "MB")
	r.out.addRelative("ratio."+peerDuckDB, served.Median()/plain.Median(), false)
	return nil
}

// readCSV has plain DuckDB read a file, and returns the time inside its process.
func (r *runner) readCSV(ctx context.Context, file string) (time.Duration, int64, error) {
	cmd := exec.CommandContext(ctx, r.cfg.Python, "-c", flightsCSVScript, "read", file, strconv.Itoa(r.cfg.Threads))
	cmd.Env = r.cfg.Env
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, fmt.Errorf("plain DuckDB: %w", withStderr(err))
	}
	var reply plainReply
	if err := json.Unmarshal(out, &reply); err != nil {
		return 0, 0, fmt.Errorf("decode answer of plain DuckDB: %w", err)
	}
	return time.Duration(reply.Seconds * float64(time.Second)), reply.Rows, nil
}

// inferSchema uploads a file and returns the number of its rows.
func (c *client) inferSchema(ctx context.Context, path string) (int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("open upload: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, fmt.Errorf("open upload: %w", err)
	}
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	if _, err := parts.CreateFormFile("file", filepath.Base(path)); err != nil {
		return 0, fmt.Errorf("build upload: %w", err)
	}
	head := form.Len()
	if err := parts.Close(); err != nil {
		return 0, fmt.Errorf("build upload: %w", err)
	}
	body := io.MultiReader(bytes.NewReader(form.Bytes()[:head]), file, bytes.NewReader(form.Bytes()[head:]))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/tables/infer-schema", body)
	if err != nil {
		return 0, fmt.Errorf("build upload: %w", err)
	}
	request.Header = c.header.Clone()
	request.Header.Set("Content-Type", parts.FormDataContentType())
	request.ContentLength = int64(form.Len()) + info.Size()
	response, err := c.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("infer the schema: %w", statusError(response))
	}
	var reply struct {
		RowCount int64 `json:"rowCount"`
	}
	if err := json.NewDecoder(response.Body).Decode(&reply); err != nil {
		return 0, fmt.Errorf("decode the schema: %w", err)
	}
	return reply.RowCount, nil
}
