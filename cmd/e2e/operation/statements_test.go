package operation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// TestAuthenticationNeedsNoStatement checks that repeated requests with a credential, right
// or wrong, cost no statement on the catalog's database. Audit entries and uses of keys
// are written in transactions, many at once. The server's background work causes a few
// statements of its own.
func TestAuthenticationNeedsNoStatement(t *testing.T) {
	const requests, background = 300, 60
	for name, url := range map[string]string{"SQLite": "", "Postgres": "postgres"} {
		t.Run(name, func(t *testing.T) {
			issuer := harness.NewSigner(t)
			s := harness.Start(t, func(c *harness.Settings) {
				if url != "" {
					c.DatabaseURL = pgtest.URL(t)
				}
				c.Issuers = []config.Issuer{{URL: "https://issuer.example", JWKSFile: issuer.File}}
			})
			claims := map[string]any{
				"iss": "https://issuer.example", "aud": "lakewarden", "sub": s.Boot.UserID, "org": s.Boot.OrganisationID,
				"exp": time.Now().Add(time.Hour).Unix(), "scope": "org:read",
			}
			person := s.Client(issuer.Token(claims), s.Boot.UserID)
			claims["sub"] = "f6c3f1f0-31f6-4d3f-9fb6-1d2d9b2d4f10"
			stranger := s.Client(issuer.Token(claims), "")
			key, record := s.Admin.NewKey(map[string]any{"scopes": []string{"read"}})
			s.Admin.OK("DELETE", "/v1/api-keys/"+record["id"].(string), nil)

			for name, c := range map[string]struct {
				client *harness.Client
				status int
			}{
				"key": {s.Admin, 200}, "token": {person, 200}, "token of no member": {stranger, 401}, "revoked key": {key, 401},
			} {
				call := func() {
					r := c.client.Call("GET", "/v1/limits", nil)
					if c.status == 401 && r.Status == 429 { // many refusals in a row are
						return
					}
					require.Equal(t, c.status, r.Status, "%s: %s", name, r.Body)
				}
				statements := func() float64 { return s.Metric(t, `lakewarden_catalog_statements_total{transaction="no"}`) }
				call()
				before, begun := statements(), time.Now()
				for range requests {
					call()
				}
				caused := statements() - before
				t.Logf("%s: %d requests in %s, %v statements", name, requests, time.Since(begun), caused)
				require.Less(t, caused, float64(background), name)
			}

			// A statement is counted: the list of members needs one for each call.
			before := s.Metric(t, `lakewarden_catalog_statements_total{transaction="no"}`)
			for range requests {
				s.Admin.OK("GET", "/v1/organisations/"+s.Boot.OrganisationID+"/users", nil)
			}
			require.GreaterOrEqual(t, s.Metric(t, `lakewarden_catalog_statements_total{transaction="no"}`)-before, float64(requests))
		})
	}
}
