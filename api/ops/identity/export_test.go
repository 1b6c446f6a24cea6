package identity

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
)

// Set sets the password of a person as a recovery does.
func (p Passwords) Set(ctx context.Context, user catalog.UserID, text string, from Origin) error {
	hash, err := p.hash(ctx, text, from)
	if err != nil {
		return err
	}
	return p.store(ctx, user, hash, from)
}
