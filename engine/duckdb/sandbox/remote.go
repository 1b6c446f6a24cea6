package sandbox

import (
	"path"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

// remoteScheme begins the locations that are read through a session's Remote.
const remoteScheme = "s3://"

// IsRemote reports whether location is in a remote store.
func IsRemote(location string) bool { return strings.HasPrefix(location, remoteScheme) }

// RemoteThreads multiplies the threads of a statement that reads a remote
// store: most of them wait for it. A lease of one thread stays one, whose results
// come in one order.
const RemoteThreads = 4

// CheckRemote refuses a Remote that could not confine a session.
func CheckRemote(r *engine.Remote) error {
	for _, text := range append([]string{r.Endpoint, r.Region, r.AccessKey, r.SecretKey}, r.Prefixes...) {
		if text == "" || native.CheckText(text) != nil {
			return native.InternalError("remote", "an empty or broken part")
		}
	}
	for _, prefix := range r.Prefixes {
		if !strings.HasSuffix(prefix, "/") || !PlainRemote(strings.TrimSuffix(prefix, "/")) {
			return native.InternalError("remote", "not the prefix of a place: "+prefix)
		}
	}
	return nil
}

// withinRemote checks that location is one of the prefixes or below one. Names are compared as
// they are, so none may have a second spelling.
func withinRemote(prefixes []string, location string) (string, error) {
	location = strings.TrimSuffix(location, "/")
	if native.CheckText(location) == nil && PlainRemote(location) {
		for _, prefix := range prefixes {
			if strings.HasPrefix(location+"/", prefix) {
				return location, nil
			}
		}
	}
	return "", RefusedLocation(location)
}

// PlainRemote reports whether location is s3://bucket with a path that every reader takes
// literally: without empty segments, . and .. segments.
func PlainRemote(location string) bool {
	rest, found := strings.CutPrefix(location, remoteScheme)
	return found && rest != "" && path.Clean("/"+rest) == "/"+rest
}

// remoteLockdown returns the SQL that lets an instance read through r. It runs before the
// lock.
func remoteLockdown(r *engine.Remote) []string {
	sql := []string{
		// An object's name is neither a pattern nor a query.
		"SET s3_url_compatibility_mode=true",
		// Objects that are read never change, so the cache needs no validation.
		"SET enable_external_file_cache=true",
		"SET validate_external_file_cache='NO_VALIDATION'",
		"SET enable_http_metadata_cache=true",
		// The endpoint itself retries, and ends every request with its statement; the client
		// waits for it.
		"SET http_retries=1",
		"SET http_retry_wait_ms=1",
		"SET http_timeout=3600",
	}
	// Settings that the extension took from the environment when it was loaded.
	for _, name := range []string{"http_proxy", "s3_access_key_id", "s3_secret_access_key", "s3_session_token", "s3_region", "s3_endpoint"} {
		sql = append(sql, "SET "+name+"=''")
	}
	return append(sql,
		remoteSecret("session", r, r.AccessKey, r.SecretKey, r.Prefixes),
		// Every other address leads to the endpoint too, with a key that it refuses. Without a
		// secret, the delta extension would request credentials from this machine's metadata
		// service and resolve the address itself. It does so for s3a://, for which it uses no
		// secret; httpfs uses one.
		remoteSecret("elsewhere", r, "none", "none", []string{remoteScheme, "s3a://", "s3n://"}),
	)
}

func remoteSecret(name string, r *engine.Remote, key, secret string, scope []string) string {
	return "CREATE SECRET " + name + " (TYPE s3, PROVIDER config, KEY_ID " + engine.QuoteString(key) + ", SECRET " +
		engine.QuoteString(secret) +
		", REGION " + engine.QuoteString(r.Region) + ", ENDPOINT " + engine.QuoteString(r.Endpoint) +
		", URL_STYLE 'path', USE_SSL false, URL_COMPATIBILITY_MODE true, SCOPE " + native.QuoteList(scope) + ")"
}
