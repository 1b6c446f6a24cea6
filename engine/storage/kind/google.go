package kind

import (
	"regexp"
	"strings"
)

// The location of buckets of Google Cloud Storage, which speaks two protocols: its own and
// that of S3.
const (
	GoogleScheme = "gs"
	GoogleStore  = "storage.googleapis.com"
)

// googleHost matches the endpoints: of the world, of a region, and over a private link.
var googleHost = regexp.MustCompile(`^((storage|www|commondatastorage|storage\.mtls|storage\.[a-z0-9-]+\.rep|storage-[a-z0-9-]+\.p)` +
	`\.googleapis\.com|storage\.cloud\.google\.com)$`)

// IsGoogle reports whether a host of an endpoint leads to Google Cloud Storage. A host
// that names a bucket is refused: it would be an alias of the bucket.
func IsGoogle(host string) (bool, error) {
	name, _, _ := strings.Cut(host, ":")
	switch {
	case googleHost.MatchString(name):
		return true, nil
	case strings.HasSuffix(name, ".googleapis.com"), strings.HasSuffix(name, ".cloud.google.com"):
		return false, Refuse("endpoint", "must not name a bucket")
	}
	return false, nil
}
