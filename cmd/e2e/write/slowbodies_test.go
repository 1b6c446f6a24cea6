package write_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestSlowBodyEndsRequest checks that every route that reads a body refuses a slow one
// with its own code, that nothing is written, that staged data is removed, and that no
// session is held meanwhile.
func TestSlowBodyEndsRequest(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	s.Table("notes", "SELECT i AS id FROM range(3) t(i)", nil, column{"id", "long"})
	rows := "/v1/tables/lake/" + s.Schema + "/notes/rows"
	line := `{"id": 7}` + "\n"
	requests := map[string][3]string{ // path, media type, beginning of the body
		"query":   {"/v1/query", "application/json", `{"sql": "SELECT `},
		"json":    {rows, "application/json", `{"rows": [{"id": 7}`},
		"ndjson":  {rows, "application/x-ndjson", strings.Repeat(line, 1000)},
		"csv":     {rows, "text/csv", "id\n7\n"},
		"parquet": {rows, "application/vnd.apache.parquet", "PAR1" + strings.Repeat("x", 5000)},
		"arrow":   {rows, "application/vnd.apache.arrow.stream", "\xff\xff\xff\xff\x00\x10\x00\x00"},
		"merge":   {rows + "/merge?on=id", "application/x-ndjson", line},
		"upload": {"/v1/tables/infer-schema", "multipart/form-data; boundary=x",
			"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"t.csv\"\r\n\r\na,b\n1,2\n"},
		"delete": {rows + "/delete", "application/json", `{"where": "`},
	}
	var wg sync.WaitGroup
	for name, r := range requests {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.SetDeadline(time.Now().Add(3*time.Minute)))
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: "+
			"10000000\r\n\r\n%s", r[0], s.Admin.Key, r[1], r[2])
		require.NoError(t, err)
		wg.Go(func() {
			for { // until the server closes
				<-time.After(200 * time.Millisecond)
				if _, err := conn.Write([]byte(" ")); err != nil {
					return
				}
			}
		})
		wg.Go(func() {
			text, _ := io.ReadAll(conn) // ends with the connection
			if !strings.HasPrefix(string(text), "HTTP/1.1 400 ") || !strings.Contains(string(text), `"code":"body_too_slow"`) {
				t.Errorf("%s: %.300s", name, text)
			}
		})
	}
	require.Eventually(t, func() bool { return s.Metric(t, "lakewarden_http_requests_in_flight") >= float64(len(requests)) }, time.Minute,
		10*time.Millisecond)
	require.Zero(t, s.Metric(t, `lakewarden_sessions{state="running"}`), "a session waits for a client")
	wg.Wait()
	require.Equal(t, []any{[]any{3.0}}, s.Admin.Rows("SELECT count(*) FROM "+s.Schema+".notes"))
	staged, err := os.ReadDir(filepath.Join(s.Config.DataDir, "writes"))
	require.NoError(t, err)
	require.Empty(t, staged)
	require.Equal(t, http.StatusOK, s.Admin.Call("POST", rows, line, "Content-Type", "application/x-ndjson").Status)
}
