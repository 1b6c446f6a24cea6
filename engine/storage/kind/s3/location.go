package s3

import (
	"regexp"
	"strings"

	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

var (
	awsEndpoint = regexp.MustCompile(`^(s3([.-][a-z0-9-]+)*|bucket\.vpce-[a-z0-9.-]+)\.amazonaws\.com$`)
	awsInChina  = regexp.MustCompile(`^s3([.-][a-z0-9-]+)*\.amazonaws\.com\.cn$`)
)

// location returns the canonical location of a root. All endpoints of AWS lead to the same
// buckets, and an endpoint that names a bucket would be an alias of it. The buckets of
// Google have the location that kind gcs gives them.
func location(s Settings) (kind.Location, error) {
	at := kind.Location{Scheme: "s3", Store: "aws", Container: s.Bucket, Prefix: s.Prefix}
	if strings.HasPrefix(s.Region, "cn-") {
		at.Store = "aws-cn"
	}
	if s.Endpoint != "" {
		host, err := kind.Host(s.Endpoint)
		if err != nil {
			return at, err
		}
		name, _, _ := strings.Cut(host, ":")
		switch {
		case awsEndpoint.MatchString(name):
			at.Store = "aws"
		case awsInChina.MatchString(name):
			at.Store = "aws-cn"
		case strings.HasSuffix(name, ".amazonaws.com"), strings.HasSuffix(name, ".amazonaws.com.cn"):
			return at, kind.Refuse("endpoint", "must not name a bucket or an access point")
		default:
			google, err := kind.IsGoogle(host)
			if err != nil {
				return at, err
			}
			if at.Store = host; google {
				at.Scheme, at.Store = kind.GoogleScheme, kind.GoogleStore
			}
		}
	}
	return at, kind.CheckPrefix(s.Prefix)
}
