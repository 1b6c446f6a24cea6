package problem

import "context"

type resourceKey struct{}

// WithResourceMetadata returns a context whose challenges name the document that tells
// clients where they get tokens (RFC 9728 §5.1).
func WithResourceMetadata(ctx context.Context, url string) context.Context {
	return context.WithValue(ctx, resourceKey{}, url)
}

// withMetadata adds the address of that document to a challenge.
func withMetadata(ctx context.Context, challenge string) string {
	if url, ok := ctx.Value(resourceKey{}).(string); ok {
		return challenge + `, resource_metadata="` + url + `"`
	}
	return challenge
}
