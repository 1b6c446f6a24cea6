package gcs

import (
	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

// location returns the canonical location of a root.
func location(s Settings) (kind.Location, error) {
	at := kind.Location{Scheme: kind.GoogleScheme, Store: kind.GoogleStore, Container: s.Bucket, Prefix: s.Prefix}
	if s.Endpoint != "" {
		host, err := kind.Host(s.Endpoint)
		if err != nil {
			return at, err
		}
		google, err := kind.IsGoogle(host)
		if err != nil {
			return at, err
		}
		if !google {
			at.Store = host
		}
	}
	return at, kind.CheckPrefix(s.Prefix)
}
