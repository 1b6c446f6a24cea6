package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// TestTokensAreRenewed: a token is renewed before its end, and one that cannot be renewed is used
// until then.
func TestTokensAreRenewed(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	var issued int
	var failure error
	tokens := NewTokens(func(context.Context) (Token, error) {
		issued++
		return Token{Value: fmt.Sprint(issued), Lifetime: time.Hour}, failure
	})
	tokens.now = func() time.Time { return now }
	get := func() string {
		value, err := tokens.Get(t.Context())
		require.NoError(t, err)
		return value
	}
	require.Equal(t, "1", get())
	now = now.Add(54 * time.Minute)
	require.Equal(t, "1", get())
	now = now.Add(time.Minute)
	require.Equal(t, "2", get(), "five minutes before its end")

	failure = fmt.Errorf("%w: down", objstore.ErrUnavailable)
	now = now.Add(59 * time.Minute)
	require.Equal(t, "2", get(), "the authority is down, the token is good")
	now = now.Add(time.Minute)
	_, err := tokens.Get(t.Context())
	require.ErrorIs(t, err, objstore.ErrUnavailable)
	failure = nil
	value := get()
	tokens.Reject("another")
	require.Equal(t, value, get())
	tokens.Reject(value)
	require.NotEqual(t, value, get())
}

// TestTokensAreRequestedOnce: callers share a request, and one that stops waiting does not end it.
func TestTokensAreRequestedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var issued int
		tokens := NewTokens(func(context.Context) (Token, error) {
			issued++
			time.Sleep(time.Second) //nolint:forbidigo // the clock of the bubble
			return Token{Value: "token", Lifetime: time.Hour}, nil
		})
		short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		var callers sync.WaitGroup
		for i := range 10 {
			callers.Go(func() {
				if i == 0 {
					_, err := tokens.Get(short)
					require.ErrorIs(t, err, context.DeadlineExceeded)
					return
				}
				value, err := tokens.Get(t.Context())
				require.NoError(t, err)
				require.Equal(t, "token", value)
			})
		}
		callers.Wait()
		require.Equal(t, 1, issued)
	})
}

// TestClassify: the failure of a credential's own request is never taken for one of the store.
func TestClassify(t *testing.T) {
	token := fmt.Errorf("send: %w", &tokenError{fmt.Errorf("%w (token: 401)", objstore.ErrCredential)})
	err := Classify(t.Context(), token, "", nil, 404)
	require.ErrorIs(t, err, objstore.ErrCredential)
	require.NotErrorIs(t, err, objstore.ErrNotFound)
	require.False(t, Repeatable(token))
	require.True(t, Repeatable(errors.New("connection lost")))

	err = Classify(t.Context(), errors.New("secret"), "a secret code", nil, 503)
	require.ErrorIs(t, err, objstore.ErrUnavailable)
	require.NotContains(t, err.Error(), "secret")
	require.Contains(t, Classify(t.Context(), errors.New("x"), "SlowDown", objstore.ErrUnavailable, 503).Error(), "503 SlowDown")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, Classify(ended, token, "", nil, 404), context.Canceled)
}
