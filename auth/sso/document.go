package sso

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// read returns the body of a document, with an access token if one is given.
func read(ctx context.Context, client *http.Client, address, accessToken string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json, application/jwk-set+json")
	if accessToken != "" {
		request.Header.Set("Authorization", "Bearer "+accessToken)
	}
	reply, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = reply.Body.Close() }()
	if reply.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the provider answered %d", reply.StatusCode)
	}
	return io.ReadAll(reply.Body)
}
