package worlds_test

import (
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/provider/providertest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/objstore/mirrortest"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// keyless is a store that is opened without a credential of its configuration.
type keyless struct {
	// body has the fields of the configuration, and folder holds the objects as files.
	body   object
	folder string
	// settings are those of the server. prepare is called once, before the configuration is made.
	settings func(*harness.Settings)
	prepare  func(*harness.Server)
	// lose ends the access to the store, and regain restores it for the next start of the server. In
	// between, requests that need the store get this status and code.
	lose, regain func(*harness.Server)
	status       int
	code         string
}

// ambientStore is a bucket that the server opens with its own identity.
func ambientStore(t *testing.T) keyless {
	store, platform := s3test.Start(t), s3test.NewPlatform(t)
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", platform.TokenFile)
	t.Setenv("AWS_ROLE_ARN", s3test.PlatformRole)
	t.Setenv("AWS_ENDPOINT_URL_STS", platform.URL)
	bucket := store.Bucket(t)
	allowed := []string{"s3://" + bucket + "?endpoint=" + store.Endpoint}
	return keyless{
		body: object{
			"kind": "s3", "bucket": bucket, "region": s3test.Region, "endpoint": store.Endpoint, "credential": "ambient",
		},
		folder: store.Folder(bucket), status: 503, code: "storage_unavailable",
		settings: func(c *harness.Settings) { c.AmbientStorage = allowed },
		prepare:  func(*harness.Server) {},
		lose:     func(s *harness.Server) { s.Config.AmbientStorage = nil; s.Restart() },
		regain:   func(s *harness.Server) { s.Config.AmbientStorage = allowed },
	}
}

// delegatedStore is a bucket that the server opens with the link of a member to a provider.
func delegatedStore(t *testing.T) keyless {
	bucket := mirrortest.Open(t, mirrortest.GCS)
	upstream, people := providertest.New(t), harness.NewSigner(t)
	upstream.Mint = bucket.Token
	app := func(s *harness.Server) string {
		return "/v1/organisations/" + s.Boot.OrganisationID + "/provider-apps/provider_one"
	}
	owner := func(s *harness.Server) *harness.Client { return people.Person(s, s.Boot.UserID, s.Boot.OrganisationID) }
	link := func(s *harness.Server) { s.Link(owner(s), app(s), upstream) }
	return keyless{
		body:   object{"kind": "delegated", "provider": "provider_one", "bucket": bucket.Name},
		folder: bucket.Folder, status: 409, code: "provider_link_required",
		settings: func(c *harness.Settings) {
			people.Trust(c)
			c.Providers = map[string]config.Provider{"provider_one": {
				Issuer: upstream.URL, Permissions: []string{"storage"}, Scopes: []string{"openid", "offline_access"}, StorageURL: bucket.Endpoint,
			}}
		},
		prepare: func(s *harness.Server) {
			s.Admin.OK("POST", app(s), object{"clientId": providertest.ClientID, "clientSecret": providertest.ClientSecret})
			link(s)
		},
		lose:   func(s *harness.Server) { owner(s).OK("DELETE", app(s)+"/link", nil) },
		regain: link,
	}
}

// TestTwoWorldsInStoresWithoutKeys compares the worlds in stores that the server opens with its own
// identity, or with the link of a member: while it can open them, and when it no longer can.
func TestTwoWorldsInStoresWithoutKeys(t *testing.T) {
	for name, open := range map[string]func(*testing.T) keyless{"ambient": ambientStore, "delegated": delegatedStore} {
		t.Run(name, func(t *testing.T) { sameWithoutKey(t, open(t)) })
	}
}

func sameWithoutKey(t *testing.T, k keyless) {
	s := harness.Start(t, func(c *harness.Settings) {
		c.Threads, c.DiscoveryEvery, c.Lease, c.Memory = 1, time.Hour, 256, 2048
		c.AllowPrivateEndpoints, c.StoreTimeout = true, time.Minute
		k.settings(c)
	})
	k.prepare(s)
	body := object{"configName": "keyless", "workspaceId": s.Boot.WorkspaceID}
	maps.Copy(body, k.body)
	s.Root, s.Schema = k.folder, s.Admin.OK("POST", harness.ConfigsPath, body)["schema"].(string)
	w := worldsOn(t, s, worldTables)
	w.govern()
	s.Stop()

	step := 5
	if os.Getenv("LAKEWARDEN_TEST_REPRESENTATIVE") != "" {
		step = 30
	}
	var statements []harness.Ask
	for i, p := range slices.Concat(shapes(), leakFamilies()) {
		if i%step == 0 {
			statements = append(statements, harness.SQLAsk(p.on(w.Table(tableOf(i)), w.Table("dim"))))
		}
	}
	open := slices.Concat(statements, w.routes("t", "p", "nosuch"))
	shut := slices.Concat(statements[:12], w.routes("m"))
	var answers [2][]harness.Answer
	for i, wild := range []bool{false, true} {
		w.visit(wild, func() {
			answers[i] = w.askAll(open)
			k.lose(s)
			w.follow()
			for _, name := range []string{"t", "p", "m", "dim"} {
				refused := func() bool { return w.users[0].Query("SELECT count(*) FROM "+w.Table(name)).Status == k.status }
				require.Eventually(t, refused, time.Minute, 50*time.Millisecond, name)
			}
			answers[i] = append(answers[i], w.askAll(shut)...)
			k.regain(s)
		})
	}
	w.compare(slices.Concat(open, shut), answers)
	count := func(of []harness.Answer, status int) (n int) {
		for _, a := range of {
			if a.Status == status {
				n++
			}
		}
		return n
	}
	seen, refused := answers[1][:len(open)], answers[1][len(open):]
	require.Greater(t, count(seen, 200)+count(seen, 422), len(open)/2, "too few requests were answered")
	require.Greater(t, count(refused, k.status), len(shut)/2, "too few requests were refused")
	for i, a := range refused {
		if a.Status == k.status {
			require.Contains(t, a.Body, k.code, "%s", shut[i])
		}
	}
}
