package main

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

func TestAStatementSaysHowOldItsViewOfRemoteLogsMayBe(t *testing.T) {
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	writeRemote(t, store, "s3://"+bucket+"/orders")
	s := startS3Server(t)
	made := s.admin.ok("POST", configsPath, s3Body(store, bucket, map[string]any{"workspaceId": s.boot.WorkspaceID}))
	schema := made["schema"].(string)
	count := func(table string, staleness int) float64 {
		answer := s.admin.ok("POST", "/v1/query", map[string]any{"sql": "SELECT count(*) FROM " + table, "max_staleness_ms": staleness})
		return answer["rows"].([]any)[0].([]any)[0].(float64)
	}
	page := func(staleness int) int {
		path := fmt.Sprintf("/v1/tables/lake/%s/orders/rows?select=id&where=%s&max_staleness_ms=%d", schema, url.QueryEscape("id >= 0"), staleness)
		return len(s.admin.ok("GET", path, nil)["rows"].([]any))
	}
	const hour = 3_600_000
	require.Equal(t, 3.0, count(schema+".orders", 0))
	writeRemote(t, store, "s3://"+bucket+"/orders")
	require.Equal(t, 3.0, count(schema+".orders", hour), "what was seen within the hour will do")
	require.Equal(t, 3, page(hour))
	require.Equal(t, 6.0, count(schema+".orders", 0), "what is there now")
	require.Equal(t, 6.0, count(schema+".orders", hour), "never older than what was seen")
	writeRemote(t, store, "s3://"+bucket+"/orders")
	require.Equal(t, 6, page(hour))
	require.Equal(t, 9, page(0))

	stored := s.admin.await(s.admin.start("SELECT count(*) FROM "+schema+".orders", "max_staleness_ms", 0))
	rows := s.admin.ok("GET", "/v1/operations/"+stored["id"].(string)+"/result", nil)["rows"]
	require.Equal(t, []any{[]any{9.0}}, rows)

	dir := s.table("names", `SELECT 1 AS id`, nil, column{"id", "long"})
	require.Equal(t, 1.0, count(s.schema+".names", hour))
	appendRows(t, dir, `SELECT 2 AS id`)
	require.Equal(t, 2.0, count(s.schema+".names", hour), "a look at a local log costs nothing")

	for _, staleness := range []any{-1, hour + 1, 1.5, "0"} {
		for _, path := range []string{"/v1/query", "/v1/queries"} {
			_, fields := s.admin.call("POST", path, map[string]any{"sql": "SELECT 1", "max_staleness_ms": staleness}).problem(t, 422)
			require.Equal(t, []string{"max_staleness_ms"}, fields, "%v", staleness)
		}
	}
	_, fields := s.admin.call("GET", "/v1/tables/lake/"+schema+"/orders/rows?max_staleness_ms=-1", nil).problem(t, 422)
	require.Equal(t, []string{"max_staleness_ms"}, fields)
}
