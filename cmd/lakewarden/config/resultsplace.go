package config

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/s3"
)

// Place is the parsed setting results_url: a folder, or a prefix in a bucket.
type Place struct {
	Folder string
	Prefix string
	Bucket s3.Options
}

// Results parses results_url and its credential. Errors name the setting and never
// repeat a secret.
func (c *Settings) Results() (Place, error) {
	u, err := url.Parse(c.ResultsURL)
	switch {
	case err != nil: // not the error: it quotes the text, which may hold a secret
	case u.Scheme == "file" && u.Host == "" && strings.HasPrefix(u.Path, "/") && u.RawQuery == "":
		if c.ResultsAccessKeyID != "" || c.ResultsSecretAccessKey != "" || c.ResultsRoleARN != "" {
			return Place{}, errors.New("results_access_key_id, results_secret_access_key, results_role_arn: are for a results_url of s3://")
		}
		return Place{Folder: filepath.FromSlash(u.Path)}, nil
	case u.Scheme == "s3" && u.User == nil && u.Fragment == "":
		return c.resultsBucket(u)
	}
	return Place{}, errors.New("results_url: must be file:///<absolute path> or s3://<bucket>/<prefix>?region=<region>")
}

func (c *Settings) resultsBucket(u *url.URL) (Place, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Place{}, errors.New("results_url: the query after the question mark is invalid")
	}
	place := Place{Prefix: strings.Trim(u.Path, "/")}
	place.Bucket = s3.Options{
		Bucket: u.Host,
		Credential: s3.Credential{
			AccessKeyID: c.ResultsAccessKeyID, SecretAccessKey: c.ResultsSecretAccessKey, RoleARN: c.ResultsRoleARN,
		},
		Limits: s3.Limits{Connect: min(c.StoreTimeout, 5*time.Second), Idle: c.StoreTimeout},
	}
	for name, values := range query {
		switch value := values[0]; {
		case len(values) == 1 && name == "region":
			place.Bucket.Region = value
		case len(values) == 1 && name == "endpoint":
			place.Bucket.Endpoint = value
		case len(values) == 1 && name == "path_style" && (value == "true" || value == "false"):
			place.Bucket.PathStyle = value == "true"
		default:
			return Place{}, errors.New("results_url: takes region, endpoint and path_style=true|false, each once")
		}
	}
	if place.Prefix != "" && objstore.ValidName(place.Prefix) != nil {
		return Place{}, errors.New("results_url: prefix must be a path without empty, '.' and '..' parts")
	}
	var refused *s3.OptionError
	if err := place.Bucket.Check(); errors.As(err, &refused) {
		setting := "results_url: " + refused.Option
		switch refused.Option {
		case "access_key_id", "secret_access_key", "role_arn":
			setting = "results_" + refused.Option + ":"
		}
		return Place{}, errors.New(setting + " " + refused.Reason)
	}
	return place, nil
}
