package kind

import (
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"
)

// AmbientCredential is embedded by the credentials of kinds whose stores may be opened with the
// server's own identity.
type AmbientCredential struct {
	// Source is empty for a credential with a secret, or "ambient".
	Source string `json:"credential,omitempty"`
}

// Ambient reports whether the credential is the server's own identity.
func (c AmbientCredential) Ambient() bool { return c.Source == ambient }

// Check refuses any other source: FieldErrors.
func (c AmbientCredential) Check() error {
	if c.Source != "" && c.Source != ambient {
		return Refuse("credential", `must be "ambient", or absent`)
	}
	return nil
}

const ambient = "ambient"

// AmbientUse is the wish of a configuration to be opened with the server's own identity. Without
// [AmbientPatterns] that allow it, the root must not be opened: the server's identity may have rights
// in the stores of every organisation.
type AmbientUse struct {
	// Field is the field of a request that chose the identity.
	Field string
	// Root is the root as patterns name it: its scheme, the account if there is one, the container
	// and the prefix.
	Root string
	// Endpoint is the URL of the store; empty means the default of the kind.
	Endpoint string
}

// AmbientPatterns are the roots that may be opened with the server's own identity. The operator of the
// server chooses them.
type AmbientPatterns []ambientPattern

// ambientPattern is a parsed pattern.
type ambientPattern struct {
	scheme string
	// segments are patterns of path.Match, possibly with [orgPlaceholder].
	segments []string
	endpoint string
}

// orgPlaceholder stands for the identifier of the organisation that owns a configuration.
const orgPlaceholder = "{org}"

var errAmbientPattern = errors.New("must be like s3://bucket, gs://bucket/folder or az://account/container, " +
	"with ?endpoint=URL for another store")

// ParseAmbientPatterns parses patterns such as s3://lake-*, gs://lake/{org} and az://account/{org}. Their
// segments are patterns of path.Match; a root matches if it equals or lies below. A store that is not
// the default of its kind is named by its exact URL: s3://lake?endpoint=https://store.example.
func ParseAmbientPatterns(texts []string) (AmbientPatterns, error) {
	var all AmbientPatterns
	for _, text := range texts {
		p, err := parseAmbientPattern(text)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func parseAmbientPattern(text string) (p ambientPattern, err error) {
	var rest, query string
	p.scheme, rest, _ = strings.Cut(text, "://")
	if i := strings.Index(rest, "?endpoint="); i >= 0 {
		rest, query = rest[:i], rest[i+len("?endpoint="):]
		u, err := url.Parse(query)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return p, errAmbientPattern
		}
		p.endpoint = strings.TrimRight(query, "/")
	}
	p.segments = strings.Split(strings.TrimSuffix(rest, "/"), "/")
	container, known := map[string]int{"s3": 0, "gs": 0, "az": 1}[p.scheme]
	if !known || len(p.segments) <= container {
		return p, errAmbientPattern
	}
	for _, segment := range p.segments {
		if _, err := path.Match(segment, ""); err != nil || segment == "" {
			return p, errAmbientPattern
		}
	}
	return p, nil
}

// Allow reports whether a configuration of the organisation org may be opened with the server's own
// identity. As with local roots, a pattern without {org} is for the first organisation of the server
// only: other organisations must not meet there.
func (a AmbientPatterns) Allow(use AmbientUse, org string, first bool) bool {
	scheme, rest, _ := strings.Cut(use.Root, "://")
	root := strings.Split(rest, "/")
	return org != "" && slices.ContainsFunc(a, func(p ambientPattern) bool {
		shared := !slices.ContainsFunc(p.segments, func(s string) bool { return strings.Contains(s, orgPlaceholder) })
		if shared && !first || p.scheme != scheme || p.endpoint != strings.TrimRight(use.Endpoint, "/") || len(p.segments) > len(root) {
			return false
		}
		for i, segment := range p.segments {
			ok, err := path.Match(strings.ReplaceAll(segment, orgPlaceholder, org), root[i])
			if err != nil || !ok {
				return false
			}
		}
		return true
	})
}
