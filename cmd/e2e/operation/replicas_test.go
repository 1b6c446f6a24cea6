package operation_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestChangesReachEveryReplica makes each change of rights on one of three replicas. The
// replica itself follows with the next request, the others within a second, although all
// of them have cached the credentials.
func TestChangesReachEveryReplica(t *testing.T) {
	replicas := harness.StartReplicas(t, 3, nil)
	first := replicas[0]
	first.Table("sales", `SELECT i AS id, 'r' || (i % 4) AS region FROM range(1000) t(i)`, []string{"region"}, column{"id", "long"},
		column{"region", "string"})
	org, from := "/v1/organisations/"+first.Boot.OrganisationID, first.Schema+".sales"
	ana := first.Member("ana@acme.example", "editor", map[string]string{"region": "r1"})

	// eventually makes a change that holds on no replica before, and on all soon after.
	eventually := func(what string, do func(), holds func(*harness.Client) bool) {
		t.Helper()
		for i, replica := range replicas {
			require.False(t, holds(replica.Client(ana.Key, ana.User)), "%s: before the change, on replica %d", what, i)
		}
		do()
		harness.Reaches(t, replicas, what, func(s *harness.Server) bool { return holds(s.Client(ana.Key, ana.User)) })
	}
	// change has the replicas make changes in turn.
	turn := 0
	change := func(what string, do func(on *harness.Server), holds func(*harness.Client) bool) {
		t.Helper()
		on := replicas[turn%len(replicas)]
		turn++
		eventually(what, func() {
			do(on)
			require.True(t, holds(on.Client(ana.Key, ana.User)), "%s: the next request on the same replica", what)
		}, holds)
	}
	counts := func(want float64) func(*harness.Client) bool {
		return func(c *harness.Client) bool { return c.CountsDuringChange(from, want) }
	}
	answers := func(status int) func(*harness.Client) bool {
		return func(c *harness.Client) bool { return c.Call("GET", "/v1/limits", nil).Status == status }
	}
	mayInsert := func(want bool) func(*harness.Client) bool {
		return func(c *harness.Client) bool {
			return slices.Contains(harness.ScopesOf(t, c.OK("GET", "/v1/me", nil)), "rows:insert") == want
		}
	}

	var policy map[string]any
	change("a policy", func(on *harness.Server) {
		policy = first.Policy("sales", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"}}`)
	}, counts(250))
	change("an attribute", func(on *harness.Server) {
		on.Admin.OK("PUT", org+"/users/"+ana.User+"/attributes", map[string]string{"region": "nowhere"})
	}, counts(0))
	change("a policy that is switched off", func(on *harness.Server) {
		on.Admin.OK("PATCH", org+"/policies/"+policy["id"].(string), map[string]any{"enabled": false, "expectedVersion": 1})
	}, counts(1000))
	change("a lower role", func(on *harness.Server) {
		on.Admin.OK("PUT", org+"/users/"+ana.User+"/role", map[string]string{"role": "viewer"})
	}, mayInsert(false))
	change("a higher role", func(on *harness.Server) {
		on.Admin.OK("PUT", org+"/users/"+ana.User+"/role", map[string]string{"role": "editor"})
	}, mayInsert(true))

	member := ana
	key, record := first.Admin.NewKey(map[string]any{"scopes": []string{"read"}})
	ana = key
	require.Equal(t, 1000.0, ana.Count(from))
	change("a revoked key", func(on *harness.Server) {
		on.Admin.OK("DELETE", "/v1/api-keys/"+record["id"].(string), nil)
	}, answers(401))
	ana = member

	// The command line is another process.
	store, err := first.OpenCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	eventually("a member that the command line removes", func() {
		require.NoError(t, store.RemoveMember(t.Context(), catalog.OrgID(first.Boot.OrganisationID), catalog.UserID(ana.User)))
	}, answers(401))
}
