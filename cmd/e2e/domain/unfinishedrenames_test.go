package domain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestARenameEndsAlthoughNewRowsCannotBeRewritten checks that a rename does not lock its domain
// for ever if a row of the previous text appears that a key keeps from getting the new one.
func TestARenameEndsAlthoughNewRowsCannotBeRewritten(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	dir := s.Table("t", "SELECT 1 AS id, 'A' AS code", nil, column{"id", "long"}, column{"code", "string"})
	path := s.TablePath("t")
	s.Admin.OK("PUT", path+"/primary-key", object{"columns": list{"id", "code"}})
	at := path + "/columns/code/domain"
	values := ids(s.Admin.OK("PUT", at+"/fixed", object{"values": list{"A"}})["domain"].(object)["allowed_values"])

	// A write that is about to commit holds the rename between its two rewrites.
	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	system, org := authz.System(t.Context(), "test"), catalog.OrgID(s.Boot.OrganisationID)
	table := catalog.DeltaID(s.Admin.OK("GET", path, nil)["tableId"].(string))
	domains, err := store.TableDomains(system, org, table)
	require.NoError(t, err)
	lease, err := store.BeginWrite(system, catalog.NewWrite{Org: org, Table: table, Kind: catalog.WriteRows})
	require.NoError(t, err)
	require.NoError(t, store.PublishWrite(system, lease, domains.Version))

	replies := make(chan harness.Reply, 1)
	go func() { replies <- s.Admin.Call("PATCH", at+"/values/"+values["A"], object{"value": "B"}) }()
	require.Eventually(t, func() bool {
		r := s.Admin.Call("POST", path+"/rows?dry_run=true", object{"rows": list{object{"id": 2, "code": "A"}}})
		return r.Status == 422
	}, time.Minute, 10*time.Millisecond)

	// Another writer commits the row that had the previous text again.
	harness.CommitFirstFileAgain(t, dir, "Apache-Spark/4.0.0", true)
	require.NoError(t, store.EndWrite(system, lease))
	r := <-replies
	require.Equal(t, 200, r.Status, "%s", r.Body)
	require.Equal(t, list{list{1.0, "A"}, list{1.0, "B"}}, s.Admin.Rows("SELECT id, code FROM "+s.Schema+".t ORDER BY code"))
	s.Admin.OK("POST", at+"/values", object{"value": "C"})
}
