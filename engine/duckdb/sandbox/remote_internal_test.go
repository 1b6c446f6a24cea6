package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/extension"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// mustExtensions are both extensions, from a developer's tree.
func mustExtensions(t *testing.T) []extension.File {
	t.Helper()
	found, err := extension.VerifyAll(t.Context(), []string{oracletest.Extensions(t)}, []string{extension.Log, extension.Remote})
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("the extensions are needed; make extensions installs them: %v", err)
	}
	require.NoError(t, err)
	return found
}

// What the environment says of credentials and endpoints is not for sessions, nor
// a proxy if loopback is excepted: requests go to the endpoint that a session was
// given, signed with its key.
func TestRemoteTakesNothingFromTheEnvironment(t *testing.T) {
	extensions := mustExtensions(t)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "AWS_ENDPOINT_URL",
		"AWS_ENDPOINT_URL_S3", "AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_METADATA_ENDPOINT"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	t.Setenv("NO_PROXY", "127.0.0.1")
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_PROFILE"} {
		t.Setenv(name, "ambient")
	}
	for _, loaded := range [][]extension.File{extensions[1:], extensions} {
		r, err := newRange(t.Context(), t.TempDir())
		require.NoError(t, err)
		defer r.remove()
		in, err := open(Confines{Extensions: loaded, Remote: r.decoy.remote(), Temp: filepath.Join(r.dir, "spill")})
		require.NoError(t, err)
		defer in.Close()
		require.NoError(t, in.Exec("FROM read_text('s3://probe/root/x')"))
		for _, asked := range r.decoy.take() {
			require.Equal(t, "/probe/root/x "+decoyKey, asked)
		}
		if len(loaded) == 1 {
			continue
		}
		for location, key := range map[string]string{"s3://probe/root/t": decoyKey, "s3://probe/outside": "none", "s3://elsewhere/t": "none"} {
			require.Error(t, in.Exec("FROM delta_scan('"+location+"')"))
			asked := r.decoy.take()
			require.NotEmpty(t, asked, location)
			for _, a := range asked {
				require.True(t, strings.HasSuffix(a, " "+key), "%s: %s", location, a)
			}
		}
	}
}

func TestProbeSeesAProxyInTheWay(t *testing.T) {
	temp, extensions := t.TempDir(), mustExtensions(t)
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	require.ErrorIs(t, Probe(t.Context(), temp, extensions), ErrBreached)
	t.Setenv("NO_PROXY", "example.org,127.0.0.1")
	require.NoError(t, Probe(t.Context(), temp, extensions))
}

func TestRemoteIsChecked(t *testing.T) {
	good := engine.Remote{Endpoint: "127.0.0.1:9", Region: "r", AccessKey: "a", SecretKey: "s", Prefixes: []string{"s3://b/", "s3://b/p/q/"}}
	require.NoError(t, CheckRemote(&good))
	for _, prefix := range []string{"", "s3://", "s3:///", "s3://b", "s3://b/p", "s3://b//", "s3://b/../c/", "s3://b/./",
		"/b/", "S3://b/", "s3://b/\x00/"} {
		bad := good
		bad.Prefixes = []string{prefix}
		require.Error(t, CheckRemote(&bad), "%q", prefix)
	}
	for _, c := range []func(*engine.Remote){
		func(r *engine.Remote) { r.Endpoint = "" }, func(r *engine.Remote) { r.AccessKey = "" }, func(r *engine.Remote) { r.SecretKey = "\xff" },
	} {
		bad := good
		c(&bad)
		require.Error(t, CheckRemote(&bad))
	}
}
