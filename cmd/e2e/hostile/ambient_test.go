package hostile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestHostileRootsOfTheServersIdentity has the administrator of an organisation use the server's identity for
// the folder of another organisation, in every spelling. The server proves its identity to nobody, and the
// reply is the same as for a folder that does not exist.
func TestHostileRootsOfTheServersIdentity(t *testing.T) {
	store, platform := s3test.Start(t), s3test.NewPlatform(t)
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", platform.TokenFile)
	t.Setenv("AWS_ROLE_ARN", s3test.PlatformRole)
	t.Setenv("AWS_ENDPOINT_URL_STS", platform.URL)
	bucket, another := store.Bucket(t), store.Bucket(t)
	s := harness.Start(t, func(c *harness.Settings) {
		c.AllowPrivateEndpoints = true
		c.AmbientStorage = []string{"s3://" + bucket + "/{org}?endpoint=" + store.Endpoint}
	})
	attacker, boot := s.Organisation("attacker")
	victim, own := s.Boot.OrganisationID, boot.OrganisationID
	body := func(change map[string]any) map[string]any {
		all := map[string]any{"configName": "own", "kind": "s3", "bucket": bucket, "region": s3test.Region, "endpoint": store.Endpoint,
			"prefix": victim, "credential": "ambient"}
		for field, value := range change {
			all[field] = value
		}
		return all
	}
	host := strings.TrimPrefix(store.Endpoint, "http://")
	name, port, _ := strings.Cut(host, ":")
	prefix := func(p string) map[string]any { return map[string]any{"prefix": p} }
	endpoint := func(e string) map[string]any { return map[string]any{"endpoint": e, "prefix": own} }
	at := func(b, p string) map[string]any { return map[string]any{"bucket": b, "prefix": p} }
	for _, change := range []map[string]any{
		prefix(victim), prefix(strings.ToUpper(victim)), prefix(strings.ToUpper(own)), prefix(victim + "/"), prefix("/" + victim),
		prefix("./" + victim),
		prefix(own + "/../" + victim), prefix(own + "/%2e%2e/" + victim + "/.."), prefix("../" + own), prefix(own + "/.."), prefix(own + "/."),
		prefix(own + "x"), prefix(own + "."), prefix(own + " "), prefix(" " + own), prefix(own[:len(own)-1]), prefix(own + "\x00"),
		prefix(own + "\n"),
		prefix("%2e%2e"), prefix(strings.ReplaceAll(own, "-", "%2D")), prefix(own + "%2F.." + "%2F" + victim), prefix(own + `\..\` + victim),
		prefix("{org}"), prefix("*"), prefix("?"), prefix(""), prefix(strings.ReplaceAll(own, "-", "‐")), prefix("//" + own), prefix(own + "//x"),
		at(bucket+"/"+victim, ""), at(bucket+"/"+own+"/..", victim), at(strings.ToUpper(bucket), own), at(bucket+".", own), at(another, own),
		at("../"+another, own), at(another+"%2F"+bucket, own), at(bucket+"?", own), at("", own),
		endpoint("http://" + name + ".:" + port), endpoint("http://user@" + host), endpoint("http://" + host + "@" + name + ":1"),
		endpoint("http://" + host + "/" + victim), endpoint("http://" + host + "/.."), endpoint("http://" + host + "?x=1"),
		endpoint("http://" + host + "#x"), endpoint("https://" + host), endpoint("http://[::ffff:" + name + "]:" + port),
		endpoint("http://2130706433:" + port),
		endpoint("http://localhost.:" + port), endpoint("http://" + name + ":0" + port + "/x"), endpoint("http://" + host + "\r\nHost: x"),
		endpoint("http://%31" + strings.TrimPrefix(host, "1")),
	} {
		issued := platform.Issued()
		r := attacker.Call("POST", harness.ConfigsPath, body(change))
		if r.Status == 201 { // another spelling of the organisation's own folder
			made := r.JSON(t)
			require.Equal(t, map[string]any{"bucket": bucket, "prefix": own, "region": s3test.Region, "endpoint": store.Endpoint, "pathStyle": true},
				made["settings"], "%v", change)
			attacker.OK("DELETE", harness.ConfigsPath+"/"+made["configId"].(string), nil)
			continue
		}
		require.Equal(t, 422, r.Status, "%v: %s", change, r.Body)
		require.Equal(t, issued, platform.Issued(), "no identity was proved: %v", change)
		for _, hidden := range []string{"exists", "taken", s3test.SecretAccessKey, platform.URL} {
			require.NotContains(t, string(r.Body), hidden, "%v", change)
		}
	}

	// The folder of the organisation itself can be used, also when that of the victim is in use.
	used := s.Admin.OK("POST", harness.ConfigsPath, body(nil))
	before := attacker.Call("POST", harness.ConfigsPath, body(nil))
	require.Equal(t, 422, before.Status, "%s", before.Body)
	require.NotContains(t, string(before.Body), "taken", "a folder in use looks like any other")
	mine := attacker.OK("POST", harness.ConfigsPath, body(prefix(own)))
	path := harness.ConfigsPath + "/" + used["configId"].(string)
	attacker.Call("GET", path, nil).Problem(t, 404)
	attacker.Call("POST", path+"/validate", nil).Problem(t, 404)
	for _, places := range [][2]any{{used["configId"], mine["configId"]}, {mine["configId"], used["configId"]}} {
		attacker.Call("POST", "/v1/storages/move", map[string]any{
			"sourceConfigId": places[0], "sourcePath": "a", "destinationConfigId": places[1], "destinationPath": "b",
		}).Problem(t, 404)
	}
}
