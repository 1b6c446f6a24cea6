package gcs

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// Options describe a bucket, its endpoint and the credential for it.
type Options struct {
	Bucket string
	// Endpoint is the URL of a store other than Google's, without a path.
	Endpoint   string
	Credential Credential
	// Machine is the identity of an ambient credential.
	Machine Machine
	// Dial opens every connection to the store and to the URL of a key; nil is the system's dialer. With it a caller decides which
	// addresses may be reached.
	Dial   remote.Dial
	Limits Limits
}

// Limits bound a request's duration and memory. Zero values are the defaults.
type Limits = remote.Limits

// OptionError is an option that New refuses: bucket, endpoint, service_account_key
// or credential.
type OptionError = remote.OptionError

var bucketName = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9._-]{1,220})[a-z0-9]$`)

// Check reports the first option that New would refuse, as an [OptionError].
func (o Options) Check() error {
	switch {
	case !bucketName.MatchString(o.Bucket) || strings.Contains(o.Bucket, ".."):
		return remote.Refuse("bucket", "must be the name of a bucket: 3 to 222 of a-z, 0-9, '.', '_' and '-'")
	case o.Endpoint != "" && !remote.ValidEndpoint(o.Endpoint, ""):
		return remote.Refuse("endpoint", "must be a URL of scheme and host, without path, query and user")
	}
	return o.Credential.check()
}

// base returns the URL of the store.
func (o Options) base() string {
	return strings.TrimRight(cmp.Or(o.Endpoint, "https://storage.googleapis.com"), "/")
}
