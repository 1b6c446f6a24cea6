package login

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/jwt"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// longestForeignLife bounds the life of tokens of other issuers, which the server cannot revoke.
const longestForeignLife = 24 * time.Hour

func issuersOf(settings config.Settings) ([]jwt.Issuer, error) {
	out := make([]jwt.Issuer, len(settings.Issuers))
	for i, entry := range settings.Issuers {
		load := jwt.FromFile(entry.JWKSFile)
		if entry.JWKSURL != "" {
			var err error
			if load, err = jwt.FromURL(entry.JWKSURL, nil); err != nil {
				return nil, fmt.Errorf("issuers[%d].jwks_url: %w", i, err)
			}
		}
		out[i] = jwt.Issuer{
			URL: entry.URL, Algorithms: entry.Algorithms, EmailSubjects: entry.EmailSubjects,
			Keys: jwt.NewKeySet(load, time.Now), Orgless: true, AccessTokensOnly: !entry.TypeJWT, LongestLife: longestForeignLife,
		}
		if len(entry.Algorithms) == 0 {
			out[i].Algorithms = []string{jwt.RS256, jwt.ES256, jwt.EdDSA}
		}
		for j, text := range entry.Organisations {
			id, err := uuid.Parse(text)
			if err != nil {
				return nil, fmt.Errorf("issuers[%d].organisations[%d]: must be a UUID", i, j)
			}
			out[i].Organisations = append(out[i].Organisations, id)
		}
		if len(entry.Scopes) > 0 {
			scopes, err := auth.ExpandScopes(entry.Scopes)
			if err != nil {
				return nil, fmt.Errorf("issuers[%d].default_scopes: %w", i, err)
			}
			out[i].DefaultScopes = scopes
		}
	}
	return out, nil
}
