package kind_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

func TestFieldsOfOtherKindsAreNamed(t *testing.T) {
	type inner struct {
		Bucket string `json:"bucket"`
	}
	var into struct {
		inner
		Key string `json:"key,omitempty"`
	}
	require.NoError(t, kind.DecodeStrict("x", kind.Secret(`{"bucket":"b","key":"k"}`), &into))
	require.Equal(t, "b k", into.Bucket+" "+into.Key)
	require.NoError(t, kind.DecodeStrict("x", nil, &into))

	var fields kind.FieldErrors
	err := kind.DecodeStrict("x", kind.Secret(`{"key":"secret","region":"r","account":"a"}`), &into)
	require.ErrorAs(t, err, &fields)
	require.Equal(t, []string{"account", "region"}, []string{fields[0].Field, fields[1].Field})
	require.NotContains(t, err.Error(), "secret")
}

func TestUnreadableDocumentsAreNotQuoted(t *testing.T) {
	var into struct {
		Key int `json:"key"`
	}
	for _, document := range []string{`{"key":"secret"`, `{"key":"secret"}`, `["secret"]`} {
		for _, err := range []error{
			kind.Decode(json.RawMessage(document), &into), kind.DecodeStrict("x", kind.Secret(document), &into),
		} {
			require.Error(t, err)
			require.NotContains(t, err.Error(), "secret")
		}
	}
}

func TestSecretsPrintAsRedacted(t *testing.T) {
	secret := kind.Secret(`{"key":"value"}`)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", secret)
	text := fmt.Sprintf("%v %+v %#v %s %q", secret, secret, secret, secret, secret) + log.String()
	require.NotContains(t, text, "value")
	require.Equal(t, 6, strings.Count(text, "redacted"))
}

func TestHosts(t *testing.T) {
	for endpoint, want := range map[string]string{
		"https://Store.Example":      "store.example",
		"https://store.example.:443": "store.example",
		"http://store.example:80/":   "store.example",
		"http://store.example:443":   "store.example:443",
		"https://store.example:9000": "store.example:9000",
	} {
		host, err := kind.Host(endpoint)
		require.NoError(t, err)
		require.Equal(t, want, host, endpoint)
	}
	for _, endpoint := range []string{"", "store.example", "://", "https://"} {
		_, err := kind.Host(endpoint)
		require.Error(t, err, endpoint)
	}
}

// root is an open root that knows whether it is closed.
type root struct {
	kind.Access
	closed int
}

func (r *root) Open() (objstore.Bucket, io.Closer, error) { return mem.New(), r, nil }

func (r *root) Close() error {
	r.closed++
	return nil
}

func TestRootsAreCachedByVersion(t *testing.T) {
	var clients kind.Clients
	open := func(version int64, r *root) objstore.Bucket {
		bucket, err := clients.Open("a", version, func() (kind.Access, error) {
			require.NotNil(t, r, "a cached root is not opened again")
			return r, nil
		})
		require.NoError(t, err)
		return bucket
	}
	first, second := &root{}, &root{}
	one := open(1, first)
	require.Same(t, one, open(1, nil))
	two := open(2, second)
	require.NotSame(t, one, two)
	require.Same(t, two, open(1, nil), "a reader with an older record uses the new credential")
	require.Equal(t, []int{1, 0}, []int{first.closed, second.closed})

	refused := errors.New("refused")
	_, err := clients.Open("a", 3, func() (kind.Access, error) { return nil, refused })
	require.ErrorIs(t, err, refused)
	require.Same(t, two, open(2, nil), "a failure leaves the cached root")
	clients.Close()
	require.Equal(t, 1, second.closed)
}

func TestOvertakenRootIsClosed(t *testing.T) {
	var clients kind.Clients
	slow, fast := &root{}, &root{}
	_, err := clients.Open("a", 1, func() (kind.Access, error) {
		_, err := clients.Open("a", 2, func() (kind.Access, error) { return fast, nil })
		return slow, err
	})
	require.NoError(t, err)
	require.Equal(t, []int{1, 0}, []int{slow.closed, fast.closed})
}
