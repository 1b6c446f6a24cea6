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
	"time"
)

// maxKeySet bounds the size of a key set document.
const maxKeySet = 1 << 20

// FromURL reads a key set over HTTPS. Plain HTTP is allowed for loopback only.
// Redirects are not followed, because the operator named the location. A nil client
// means a client with a timeout of 10 s. Errors wrap [ErrConfig].
func FromURL(address string, client *http.Client) (Loader, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("%w: key set address is not a plain URL", ErrConfig)
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return nil, fmt.Errorf("%w: key set address must use https", ErrConfig)
	}
	own := http.Client{Timeout: 10 * time.Second}
	if client != nil {
		own = *client
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return func(ctx context.Context) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Accept", "application/jwk-set+json, application/json")
		resp, err := own.Do(req)
		if err != nil {
			return nil, err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("key set address answered %d", resp.StatusCode)
		}
		return readBounded(resp.Body)
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
		return readBounded(f)
	}
}

func readBounded(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxKeySet+1))
	if err == nil && len(data) > maxKeySet {
		err = errors.New("key set is larger than 1 MiB")
	}
	return data, err
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
