package write_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// merging returns the body of a merge that deletes rows with ids.
func merging(rows list, ids ...any) object {
	keys := list{}
	for _, id := range ids {
		keys = append(keys, object{"id": id})
	}
	return object{"rows": rows, "delete": keys}
}

// mailing creates a table with a key and a unique column.
func mailing(s *harness.Server, more object) string {
	path := s.Create("t", more, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("mail", "string", "isUnique", true),
		harness.Col("region", "string"))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "mail": "a", "region": "eu"}, object{"id": 2, "mail": "b", "region": "eu"},
		object{"id": 3, "mail": "c", "region": "us"}, object{"id": 4, "mail": "d", "region": "eu"}))
	return path
}

func TestAMergeDeletesRowsInTheSameCommit(t *testing.T) {
	t.Parallel()
	for _, properties := range []object{{}, {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}} {
		s := harness.Shared(t)
		path := mailing(s, object{"properties": properties})
		version := s.Admin.Version(path)
		inserted, updated, deleted := s.Admin.Write(path+"/rows/merge",
			merging(list{object{"id": 1, "mail": "b"}, object{"id": 9, "mail": "c"}}, 2, 3, 77))
		require.Equal(t, []float64{1, 1, 2}, []float64{inserted, updated, deleted}, "new rows have unique values of deleted ones")
		require.Equal(t, version+1, s.Admin.Version(path))
		all := list{list{1.0, "b", "eu"}, list{4.0, "d", "eu"}, list{9.0, "c", nil}}
		require.Equal(t, all, s.Admin.Rows("SELECT * FROM "+s.Schema+".t ORDER BY id"))

		r := s.Admin.Call("POST", path+"/rows/merge?dry_run=true", merging(list{}, 1, 4))
		require.Equal(t, 2.0, r.JSON(t)["deleted"], "%s", r.Body)
		code, fields := s.Admin.Call("POST", path+"/rows/merge", merging(list{object{"id": 20, "mail": "d"}}, 1)).Problem(t, 409)
		require.Equal(t, "key_conflict", code)
		require.Equal(t, []string{"rows[0].mail"}, fields)
		require.Equal(t, all, s.Admin.Rows("SELECT * FROM "+s.Schema+".t ORDER BY id"), "all or nothing")

		_, _, deleted = s.Admin.Write(path+"/rows/merge", merging(list{}, "1", 4, 9))
		require.Equal(t, 3.0, deleted)
		_, _, deleted = s.Admin.Write(path+"/rows/merge", merging(list{}, 1, 4, 9))
		require.Zero(t, deleted)
		require.Zero(t, s.Admin.Count(s.Schema+".t"))
	}
}

func TestKeysOfRowsToDeleteAreChecked(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := mailing(s, nil)
	row := list{object{"id": 8}}
	for body, want := range map[string]string{
		`{"rows":[{"id":8}],"delete":[{"id":1},{"id":8}]}`:                     "duplicate_key delete[1]",
		`{"rows":[],"delete":[{"id":1},{"id":2},{"id":1}]}`:                    "duplicate_key delete[2]",
		`{"rows":[],"delete":[{"id":1},{"id":null}]}`:                          "validation_error delete[1].id",
		`{"rows":[],"delete":[{}]}`:                                            "validation_error delete[0].id",
		`{"rows":[],"delete":[{"id":1,"mail":"a"}]}`:                           "validation_error delete[0].mail",
		`{"rows":[],"delete":[{"id":1},{"id":"x"}]}`:                           "validation_error delete[1].id",
		`{"rows":[],"delete":[{"id":1.5}]}`:                                    "validation_error delete[0].id",
		`{"rows":[],"delete":[[1]]}`:                                           "validation_error delete",
		`{"rows":[],"delete":{"id":1}}`:                                        "validation_error delete",
		`{"rows":[],"delete":"all"}`:                                           "validation_error delete",
		`{"rows":[],"delete":[{"id":1}],"on":["region","id"]}`:                 "validation_error delete[0].region",
		`{"rows":[],"delete":[{"id":1}],"on":["no such"]}`:                     "validation_error on",
		`{"rows":[],"delete":[{"id":1,"` + strings.Repeat("x", 300) + `":1}]}`: "validation_error delete[0]." + strings.Repeat("x", 64),
	} {
		code, fields := s.Admin.Call("POST", path+"/rows/merge", body, "Content-Type", "application/json").Problem(t, 422)
		kind, field, _ := strings.Cut(want, " ")
		require.Len(t, fields, 1, body)
		require.True(t, strings.HasPrefix(fields[0], field), "%s: %s", body, fields[0])
		require.Equal(t, kind == "duplicate_key", code == "duplicate_key", "%s: %s", body, code)
	}
	for _, to := range []string{"/rows", "/rows/update", "/rows/delete"} {
		s.Admin.Call("POST", path+to, object{"rows": row, "delete": list{}}).Problem(t, 422)
	}
	many := list{}
	for i := range 10_001 {
		many = append(many, object{"id": i})
	}
	require.GreaterOrEqual(t, s.Admin.Call("POST", path+"/rows/merge", object{"rows": list{}, "delete": many}).Status, 400)
	require.Equal(t, 4.0, s.Admin.Count(s.Schema+".t"))
	_, updated, deleted := s.Admin.Write(path+"/rows/merge", object{"rows": list{}, "delete": nil})
	require.Zero(t, updated+deleted)
	inserted, _, _ := s.Admin.Write(path+"/rows/merge", object{"rows": row, "delete": list{}})
	require.Equal(t, 1.0, inserted)
}

func TestAMergeDeletesVisibleRowsOnly(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := mailing(s, nil)
	s.Policy("t", "region", harness.AdminsSee)
	s.Policy("t", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":null}`)
	eu := s.Member("eu@acme.example", "editor", map[string]string{"region": "eu"})
	_, _, deleted := eu.Write(path+"/rows/merge", merging(list{}, 3, 99))
	require.Zero(t, deleted, "a hidden key is as good as a missing one")
	code, fields := eu.Call("POST", path+"/rows/merge", merging(list{object{"id": 1, "mail": "c"}}, 2, 3)).Problem(t, 409)
	require.Equal(t, "key_conflict", code, "the hidden row stays, with its unique value")
	require.Empty(t, fields)
	code, _ = eu.Call("POST", path+"/rows/merge", merging(list{object{"id": 1, "region": "us"}}, 2)).Problem(t, 403)
	require.Equal(t, "rls_violation", code)
	_, updated, deleted := eu.Write(path+"/rows/merge", merging(list{object{"id": 1, "mail": "b"}}, 2, 3))
	require.Equal(t, []float64{1, 1}, []float64{updated, deleted})
	require.Equal(t, list{list{1.0, "b", "eu"}, list{3.0, "c", "us"}, list{4.0, "d", "eu"}},
		s.Admin.Rows("SELECT * FROM "+s.Schema+".t ORDER BY id"))
}

func TestAMergeThatDeletesNeedsTheScopeToDelete(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := mailing(s, nil)
	few, _ := s.Admin.NewKey(object{"name": "few", "scopes": list{"tables:read", "tables:query", "rows:insert", "rows:update"}})
	few.Call("POST", path+"/rows/merge", merging(list{}, 1)).Problem(t, 403)
	_, updated, _ := few.Write(path+"/rows/merge", merging(list{object{"id": 1, "region": "us"}}))
	require.Equal(t, 1.0, updated)
	enough, _ := s.Admin.NewKey(object{"name": "enough", "scopes": list{"tables:read", "rows:insert", "rows:update", "rows:delete"}})
	_, _, deleted := enough.Write(path+"/rows/merge", merging(list{}, 1))
	require.Equal(t, 1.0, deleted)
}

func TestMergesThatDeleteAndRaceAreAllMade(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("mail", "string", "isUnique", true))
	rows := list{}
	for i := range 12 {
		rows = append(rows, object{"id": i, "mail": fmt.Sprint("m", i)})
	}
	s.Admin.Write(path+"/rows", harness.RowsOf(rows...))
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			// Each takes the unique value of a row that it deletes.
			s.Admin.Write(path+"/rows/merge", merging(list{object{"id": 3 * i, "mail": fmt.Sprint("m", 3*i+1)}}, 3*i+1, 3*i+2))
		})
	}
	group.Wait()
	require.Equal(t, list{list{0.0, "m1"}, list{3.0, "m4"}, list{6.0, "m7"}, list{9.0, "m10"}},
		s.Admin.Rows("SELECT * FROM "+s.Schema+".t ORDER BY id"))

	deleted := make(chan float64, 4)
	for range 4 {
		group.Go(func() {
			_, _, n := s.Admin.Write(path+"/rows/merge", merging(list{}, 0, 3))
			deleted <- n
		})
	}
	group.Wait()
	close(deleted)
	sum := 0.0
	for n := range deleted {
		sum += n
	}
	require.Equal(t, 2.0, sum, "each row is deleted once")
}

func TestARepeatedMergeThatDeletesIsDoneOnce(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := mailing(s, nil)
	send := func(body object) harness.Reply {
		return s.Admin.Call("POST", path+"/rows/merge", body, "Idempotency-Key", "merge")
	}
	first := send(merging(list{}, 1))
	require.Equal(t, 1.0, first.JSON(t)["deleted"])
	require.JSONEq(t, string(first.Body), string(send(merging(list{}, 1)).Body))
	code, _ := send(merging(list{}, 2)).Problem(t, 422)
	require.Equal(t, "idempotency_key_reused", code, "other keys are another request")
	require.Equal(t, 3.0, s.Admin.Count(s.Schema+".t"))
}
