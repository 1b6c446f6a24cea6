package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/bench"
)

// fakeVariable makes the test program act as the server, so that the runner is
// tested with real processes, files and HTTP.
const fakeVariable = "BENCH_TEST_PLAYS_SERVER"

// throttleVariable makes that server refuse its first statement because of a limit
// ("limit") or a full queue ("queue").
const throttleVariable = "BENCH_TEST_THROTTLES"

// settingVariable names a variable that the server must be started with.
const settingVariable = "BENCH_TEST_NEEDS"

// answersVariable names a folder with a reply for each analysis, in a file TABLE.ACTION.json,
// and outputVariable the output of Python.
const (
	answersVariable = "BENCH_TEST_ANSWERS"
	outputVariable  = "BENCH_TEST_OUTPUT"
)

func TestMain(m *testing.M) {
	if os.Getenv(fakeVariable) != "" {
		if err := playServer(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func playServer(args []string) error {
	switch args[0] {
	case "bootstrap":
		fmt.Println(`{"organisation_id":"o","workspace_id":"w","user_id":"u","api_key":"admin"}`) //nolint:forbidigo // it plays a command
	case "user":
		fmt.Println(`{"user_id":"v","api_key":"viewer"}`) //nolint:forbidigo // it plays a command
	case "serve":
		return serveFake()
	case bench.LoadCommand, "-c": // the loader of a log, and Python
		if output := os.Getenv(outputVariable); output != "" {
			fmt.Println(output) //nolint:forbidigo // it plays a command
			return nil
		}
		if len(args) > 3 && args[2] == "rows" {
			return os.WriteFile(args[3], []byte("ten rows"), 0o600)
		}
		//nolint:forbidigo // this is the output of a command
		fmt.Println(`{"seconds":0.5,"files":6,"removed":6,"grown":1048576,"cpu":0.25,"inserted":1,"updated":9}`)
	case "copy", "move": // rclone
		return nil
	case "size": // rclone, after a move
		if strings.HasSuffix(args[2], "source/data") {
			os.Exit(3) // no such folder
		}
		fmt.Println(`{"count":3,"bytes":300}`) //nolint:forbidigo // it plays a command
	case "--port": // the S3 server's first argument
		return serveUntilEnd(args[1], http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	default:
		return fmt.Errorf("unexpected command %v", args)
	}
	return nil
}

// The storage configuration of every fake server.
const (
	fakeConfigID = "0b9f3c52-7d5e-4a0e-9d5a-2f6f8f1c1a11"
	fakeSchema   = "cfg_0b9f3c527d5e4a0e9d5a2f6f8f1c1a11"
)

func serveFake() error {
	if name, value, ok := strings.Cut(os.Getenv(settingVariable), "="); ok && os.Getenv(name) != value {
		return fmt.Errorf("%s is %q", name, os.Getenv(name))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /v1/storages/configs", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer admin" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		var config struct{ Kind string }
		if json.NewDecoder(r.Body).Decode(&config) != nil ||
			config.Kind == "s3" && os.Getenv("LAKEWARDEN_ALLOW_PRIVATE_ENDPOINTS") != "true" {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"configId":"`+fakeConfigID+`","schema":"`+fakeSchema+`"}`)
	})
	mux.HandleFunc("POST /v1/storages/configs/"+fakeConfigID+"/discover", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"tablesFound":7,"truncated":false}`)
	})
	mux.HandleFunc("POST /v1/storages/move", func(w http.ResponseWriter, r *http.Request) {
		var move struct{ SourceConfigID, SourcePath, DestinationConfigID, DestinationPath string }
		if json.NewDecoder(r.Body).Decode(&move) != nil || move.SourceConfigID != fakeConfigID || move.SourcePath == "" ||
			move.DestinationConfigID != fakeConfigID || move.DestinationPath == "" || r.Header.Get("Prefer") != "respond-async" {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"id":"m"}`)
	})
	mux.HandleFunc("GET /v1/operations/m", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"m","state":"succeeded","result":{"objectsMoved":3,"bytesTransferred":300}}`)
	})
	mux.HandleFunc("DELETE /v1/storages/configs/"+fakeConfigID, func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /v1/api-keys", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"key":"load"}`)
	})
	var served atomic.Int64
	mux.HandleFunc("GET /v1/limits", func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer load" {
			served.Add(1)
		}
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		// Half of the requests take up to 0.2 ms, and each of them causes two statements.
		n := served.Load()
		for bound, part := range map[string]int64{"0.0001": 0, "0.0002": n / 2, "0.0003": n, "+Inf": n} {
			_, _ = fmt.Fprintf(w, "lakewarden_http_request_seconds_bucket{route=\"/v1/limits\",le=%q} %d\n", bound, part)
		}
		_, _ = fmt.Fprintf(w, "# a comment\nlakewarden_catalog_statements_total{transaction=\"no\"} %d\n"+
			"lakewarden_catalog_statements_total{transaction=\"yes\"} 7\nother 1\n", 2*n)
	})
	mux.HandleFunc("POST /v1/tables", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	mux.HandleFunc("POST /v1/tables/lake/"+fakeSchema+"/t/optimize", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"id":"o"}`)
	})
	mux.HandleFunc("PUT /v1/tables/lake/"+fakeSchema+"/{table}/primary-key", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{}`)
	})
	mux.HandleFunc("POST /v1/tables/lake/"+fakeSchema+"/t/rows", func(w http.ResponseWriter, _ *http.Request) {
		if os.Getenv("LAKEWARDEN_LOG_LEVEL") == "debug" {
			fmt.Fprintln(os.Stderr, "no entry\n"+`{"msg":"other","files":7}`+"\n"+
				`{"level":"DEBUG","msg":"keys checked","op":"rows.insert","files":2}`)
		}
		_, _ = io.WriteString(w, `{"version":2,"inserted":10,"updated":0,"deleted":0}`)
	})
	mux.HandleFunc("POST /v1/tables/lake/"+fakeSchema+"/t/rows/merge", func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err != nil || string(body) != "ten rows" ||
			!strings.HasSuffix(r.Header.Get("Content-Type"), "parquet") {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		_, _ = io.WriteString(w, `{"version":2,"inserted":1,"updated":9,"deleted":0}`)
	})
	mux.HandleFunc("GET /v1/operations/o", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"o","state":"succeeded","result":{"filesAdded":1,"filesRemoved":6}}`)
	})
	mux.HandleFunc("POST /v1/tables/lake/"+fakeSchema+"/{table}/analyze", answerAnalysis())
	var throttled atomic.Bool
	mux.HandleFunc("POST /v1/query", func(w http.ResponseWriter, r *http.Request) {
		if key := r.Header.Get("Authorization"); key != "Bearer admin" && key != "Bearer viewer" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if limit := os.Getenv(throttleVariable); limit != "" && throttled.CompareAndSwap(false, true) {
			refuseFake(w, limit)
			return
		}
		answerFake(w, r)
	})
	return serveUntilEnd(os.Getenv("LAKEWARDEN_LISTEN"), mux)
}

func serveUntilEnd(address string, handler http.Handler) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server := &http.Server{Addr: address, Handler: handler}
	go func() { _ = server.ListenAndServe() }()
	<-ctx.Done()
	return server.Close()
}

// answerAnalysis answers from files. It refuses the first request if it throttles.
func answerAnalysis() http.HandlerFunc {
	var asked atomic.Bool
	return func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Action string `json:"action"`
			Limit  int    `json:"limit"`
		}
		if json.NewDecoder(r.Body).Decode(&body) != nil || body.Limit != 10_000 {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		if limit := os.Getenv(throttleVariable); limit != "" && asked.CompareAndSwap(false, true) {
			refuseFake(w, limit)
			return
		}
		reply, err := os.ReadFile(filepath.Join(os.Getenv(answersVariable), r.PathValue("table")+"."+body.Action+".json"))
		if err != nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write(reply)
	}
}

func refuseFake(w http.ResponseWriter, limit string) {
	w.Header().Set("Retry-After", "1")
	if limit == "queue" {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"code":"server_busy"}`)
		return
	}
	w.WriteHeader(http.StatusTooManyRequests)
}

// answerFake answers "rows N" with N rows and "cut" with a truncated stream. It
// refuses everything else.
func answerFake(w http.ResponseWriter, r *http.Request) {
	var body struct {
		SQL    string `json:"sql"`
		Schema string `json:"schema"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || body.Schema != fakeSchema {
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	var rows int
	if _, err := fmt.Sscanf(body.SQL, "rows %d", &rows); err != nil {
		switch {
		case strings.HasPrefix(body.SQL, "SELECT count(*) FROM region") && !strings.Contains(body.SQL, "bench_no"):
			rows = 1
		default:
			w.WriteHeader(http.StatusBadRequest)
			return
		}
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer builder.Release()
	for i := range rows {
		builder.Field(0).(*array.Int64Builder).Append(int64(i))
	}
	batch := builder.NewRecordBatch()
	defer batch.Release()
	stream := ipc.NewWriter(w, ipc.WithSchema(schema))
	_ = stream.Write(batch)
	if strings.HasSuffix(body.SQL, "cut") {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_ = stream.Close()
}
