package policy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// ends returns the expiry in a key's record.
func ends(t testing.TB, record map[string]any) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, record["expires_at"].(string))
	require.NoError(t, err)
	return at
}

// TestNoKeyOutlivesItsCreator checks that every key that a key makes or rotates
// expires no later than it, over any number of generations.
func TestNoKeyOutlivesItsCreator(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	brief, record := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}, "expires_in": "10m"})
	limit := ends(t, record)
	for _, later := range []map[string]any{
		{"expires_in": "366d"}, {"expires_in": "P1D"}, {"expires_in": "11m"},
		{"expires_at": limit.Add(time.Microsecond).Format(time.RFC3339Nano)},
	} {
		later["name"] = "later"
		code, fields := brief.Call("POST", "/v1/api-keys", later).Problem(t, 422)
		require.Equal(t, "invalid_field", code, later)
		require.Len(t, fields, 1)
		require.Contains(t, later, fields[0])
	}
	code, fields := brief.Call("POST", "/v1/api-keys", map[string]any{"name": "x", "expires_in": "367d"}).Problem(t, 422)
	require.Equal(t, "invalid_field", code, "no key at all may live so long")
	require.Equal(t, []string{"expires_in"}, fields)

	_, record = brief.NewKey(map[string]any{"expires_in": "5m30s"})
	require.WithinDuration(t, time.Now().Add(330*time.Second), ends(t, record), 5*time.Second, "an earlier end is as asked")
	_, record = brief.NewKey(map[string]any{"expires_at": limit.Format(time.RFC3339Nano)})
	require.WithinDuration(t, limit, ends(t, record), 0)
	child, record := brief.NewKey(map[string]any{"scopes": []string{"write"}})
	require.WithinDuration(t, limit, ends(t, record), 0, "none sent: with its creator")
	_, record = child.NewKey(map[string]any{})
	require.WithinDuration(t, limit, ends(t, record), 0)
	_, record = s.Admin.NewKey(map[string]any{})
	require.WithinDuration(t, time.Now().Add(90*24*time.Hour), ends(t, record), 10*time.Second, "the creator lives longer")
}

// TestCommandLineMakesAnotherKey checks the command that an organisation needs when
// its keys expire, since no key can make a longer one.
func TestCommandLineMakesAnotherKey(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	vic := s.Member("vic@acme.example", "viewer", nil)
	p := harness.NewProgram(t)
	p.Env = append(p.Env, "LAKEWARDEN_DATA_DIR="+s.Config.DataDir, "LAKEWARDEN_DATABASE_URL="+s.Config.DatabaseURL)
	made := p.JSON("user", "key", "--org", s.Boot.OrganisationID, "--email", "Vic@acme.example", "--json")
	require.Equal(t, vic.User, made["user_id"])
	me := s.Client(made["api_key"].(string), vic.User).OK("GET", "/v1/me", nil)
	require.ElementsMatch(t, harness.ViewerScopes, harness.ScopesOf(t, me))
	_, stderr, err := p.Run("user", "key", "--org", s.Boot.OrganisationID, "--email", "eve@acme.example")
	require.Error(t, err)
	require.Contains(t, stderr, "eve@acme.example is not a member")
	for _, life := range []string{"366d", "P366D"} {
		_, record := s.Admin.NewKey(map[string]any{"expires_in": life})
		require.WithinDuration(t, time.Now().Add(366*24*time.Hour), ends(t, record), 10*time.Second, "a key of the command line can make any")
	}
}

func TestRotationDoesNotExtendAKey(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	rotate := func(who *harness.Client, record map[string]any, grace int) (*harness.Client, map[string]any) {
		t.Helper()
		reply := who.OK("POST", "/v1/api-keys/"+record["id"].(string)+"/rotate", map[string]any{"grace_seconds": grace})
		return s.Client(reply["key"].(string), who.User), reply["api_key"].(map[string]any)
	}
	key, record := s.Admin.NewKey(map[string]any{"scopes": []string{"write"}, "expires_in": "6m"})
	limit := ends(t, record)
	for _, grace := range []int{0, 3600, 604800} { // a key that rotates itself, again and again
		before := record
		next, successor := rotate(key, record, grace)
		require.WithinDuration(t, limit, ends(t, successor), 0)
		old := ends(t, s.Admin.OK("GET", "/v1/api-keys/"+before["id"].(string), nil))
		require.False(t, old.After(limit), "grace does not extend it either")
		key, record = next, successor
	}
	_, successor := rotate(s.Admin, record, 0)
	require.WithinDuration(t, limit, ends(t, successor), 0, "whoever rotates it")

	// A brief key would trade a long one for a copy that it knows.
	_, record = s.Admin.NewKey(map[string]any{"scopes": []string{"write"}, "expires_in": "300d"})
	brief, made := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}, "expires_in": "10m"})
	_, successor = rotate(brief, record, 600)
	require.WithinDuration(t, ends(t, made), ends(t, successor), 0)

	// In its grace period the old key is brief itself.
	long, record := s.Admin.NewKey(map[string]any{"scopes": []string{"write"}, "expires_in": "300d"})
	_, successor = rotate(s.Admin, record, 600)
	require.WithinDuration(t, ends(t, record), ends(t, successor), 0)
	_, successor = rotate(long, successor, 0)
	require.WithinDuration(t, time.Now().Add(10*time.Minute), ends(t, successor), 10*time.Second)
	_, fields := long.Call("POST", "/v1/api-keys", map[string]any{"name": "x", "expires_in": "1h"}).Problem(t, 422)
	require.Equal(t, []string{"expires_in"}, fields)
}
