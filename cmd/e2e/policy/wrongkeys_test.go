package policy_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestWrongKeysDoNotLockOutValidOnes sends many wrong keys from one client, also with
// the prefix of a valid key, and checks that holders of valid keys are not affected.
func TestWrongKeysDoNotLockOutValidOnes(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	guess := s.Admin.Key[:len(apikey.Prefix)+8] + apikey.Generate().Reveal()[len(apikey.Prefix)+8:]
	for name, wrong := range map[string]*harness.Client{
		"unknown":         s.Client(apikey.Generate().Reveal(), ""),
		"known prefix":    s.Client(guess, ""),
		"no key":          s.Client("nothing", ""),
		"token":           s.Client("eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImEifQ.eyJpc3MiOiJhIiwic3ViIjoiYiJ9.c2ln", ""),
		"malformed token": s.Client("a.b.c", ""),
	} {
		statuses := map[int]int{}
		// One more failure is allowed each second, so that a slow machine needs more of them.
		tries := 0
		for ; tries < 80 || statuses[429] == 0; tries++ {
			r := wrong.Call("GET", "/v1/me", nil)
			statuses[r.Status]++
			if r.Status == 429 {
				code, _ := r.Problem(t, 429)
				require.Equal(t, "rate_limited", code)
				require.NotEmpty(t, r.Header.Get("Retry-After"))
			}
			require.Equal(t, 200, s.Admin.Call("GET", "/v1/me", nil).Status, name)
		}
		require.Equal(t, tries, statuses[401]+statuses[429], "%s: %v", name, statuses)
	}
}

// TestTheClientBehindAProxy checks that a client is counted, logged and audited by its
// own address only if its proxy is trusted.
func TestTheClientBehindAProxy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trusted []string
		want    string
	}{
		"trusted":   {[]string{"127.0.0.0/8", "::1"}, "203.0.113.7"},
		"untrusted": {nil, "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := harness.Start(t, func(config *harness.Settings) { config.TrustedProxies = c.trusted })
			wrong := s.Client(apikey.Generate().Reveal(), "")
			begun := time.Now()
			allowed := func() int { return 64 + int(time.Since(begun)/time.Second) }
			failures := 0
			for ; failures < 100 || failures < allowed()+10; failures++ {
				wrong.Call("GET", "/v1/me", nil, "X-Forwarded-For", "198.51.100.9, 203.0.113.7")
			}
			stranger := func() int {
				return s.Client(apikey.Generate().Reveal(), "").Call("GET", "/v1/me", nil, "X-Forwarded-For", "203.0.113.8").Status
			}
			if c.trusted == nil {
				// One more failure is allowed each second, and an address of its own would have 60.
				status := stranger()
				for tries := 1; status == 401 && tries < 30; tries++ {
					status = stranger()
				}
				require.Equal(t, 429, status, "who is behind an unknown proxy is not told from others there")
			} else {
				require.Equal(t, 401, stranger())
			}
			require.Equal(t, 200, s.Admin.Call("GET", "/v1/me", nil, "X-Forwarded-For", "198.51.100.9, 203.0.113.7").Status)
			require.Equal(t, 200, s.Admin.Call("POST", "/v1/query", map[string]any{"sql": "SELECT 1"}, "X-Forwarded-For", "203.0.113.7").Status)
			s.Stop()
			require.Contains(t, s.Log.String(), `"remote":"`+c.want+`"`)
			require.NotContains(t, s.Log.String(), "198.51.100.9")
			store, err := s.OpenCatalog(context.Background())
			require.NoError(t, err)
			defer func() { require.NoError(t, store.Close()) }()
			for org, action := range map[catalog.OrgID]string{"": "authenticate", catalog.OrgID(s.Boot.OrganisationID): "query.run"} {
				list, err := store.ListAudit(context.Background(), org, catalog.AuditFilter{Action: action}, catalog.Page{Size: 1000})
				require.NoError(t, err)
				require.NotEmpty(t, list.Items, action)
				require.True(t, slices.ContainsFunc(list.Items, func(e catalog.AuditEntry) bool { return e.Remote == c.want }), action)
				require.LessOrEqual(t, len(list.Items), allowed()+1, "a flood does not fill the log")
				if org == "" {
					require.True(t, slices.ContainsFunc(list.Items, func(e catalog.AuditEntry) bool {
						return e.Remote == c.want && strings.Contains(string(e.Details), `"rate_limited"`)
					}), "but is told of in it")
				}
			}
		})
	}
}
