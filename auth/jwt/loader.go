package jwt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"

	"github.com/lakewarden/lakewarden/auth/outbound"
)

// maxKeySet bounds the file of a key set, in bytes.
const maxKeySet = 1 << 20

// FromURL reads a key set over HTTPS by [outbound.Client]. Plain HTTP is allowed for
// loopback only. Redirects are not followed, because the operator named the location.
// client may be nil. Errors wrap [ErrConfig].
func FromURL(address string, client *http.Client) (Loader, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("%w: key set address is not a plain URL", ErrConfig)
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return nil, fmt.Errorf("%w: key set address must use https", ErrConfig)
	}
	bounded := outbound.Client(client)
	return func(ctx context.Context) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Accept", "application/jwk-set+json, application/json")
		resp, err := bounded.Do(req)
		if err != nil {
			return nil, err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("key set address answered %d", resp.StatusCode)
		}
		return io.ReadAll(resp.Body)
	}, nil
}

// FromFile reads a key set from a file, on every refresh of the set.
func FromFile(path string) Loader {
	return func(context.Context) ([]byte, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		data, err := io.ReadAll(io.LimitReader(f, maxKeySet+1))
		if err == nil && len(data) > maxKeySet {
			err = errors.New("key set is larger than 1 MiB")
		}
		return data, err
	}
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
