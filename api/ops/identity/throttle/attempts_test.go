package throttle_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
)

const (
	ada       = "ada@acme.example"
	nobody    = "nobody@acme.example"
	remote    = "192.0.2.7"
	elsewhere = "198.51.100.9"
)

// refuse counts a refused attempt and returns the error for the client.
func refuse(a *throttle.Attempts, account, remote string) error {
	_, _, err := a.Refused(account, throttle.Client{Remote: remote})
	return err
}

func TestGuessesFromOneAddressAreDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := throttle.NewAttempts(nil)
		ctx := context.Background()
		took := func(account, address string) time.Duration {
			start := time.Now()
			end, err := a.Begin(ctx, account, throttle.Client{Remote: address})
			require.NoError(t, err)
			end()
			return time.Since(start)
		}
		for range 40 {
			require.Zero(t, took(ada, remote))
			_ = refuse(a, ada, remote)
		}
		require.Zero(t, took(ada, remote))
		_ = refuse(a, ada, remote)
		require.Equal(t, 250*time.Millisecond, took(ada, remote))
		for range 20 {
			_ = refuse(a, ada, remote)
		}
		require.Equal(t, 4*time.Second, took(ada, remote), "the delay is bounded")
		require.Zero(t, took(ada, elsewhere), "other addresses are not delayed")
		require.Zero(t, took(nobody, remote), "other accounts are not delayed")
		done, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := a.Begin(done, ada, throttle.Client{Remote: remote})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 4*time.Second, took(ada, remote), "an abandoned attempt gives its turn to the next")
		start := time.Now()
		end, err := a.Begin(ctx, ada, throttle.Client{Remote: remote, Browser: "known"})
		require.NoError(t, err)
		end()
		require.Equal(t, start, time.Now(), "a browser that signed in before does not wait")
		<-time.After(10 * time.Minute)
		require.Zero(t, took(ada, remote), "counts fall with time")
	})
}

// TestTheRightPasswordAmongFortyWrongOnes checks that none of 41 attempts at once for one account from
// one address waits for anything but the verification of those before it.
func TestTheRightPasswordAmongFortyWrongOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const verification = 50 * time.Millisecond
		a := throttle.NewAttempts(nil)
		start := time.Now()
		var wg sync.WaitGroup
		for range 41 {
			wg.Go(func() {
				end, err := a.Begin(t.Context(), ada, throttle.Client{Remote: remote})
				if err != nil {
					t.Error(err)
					return
				}
				defer end()
				<-time.After(verification)
				_ = refuse(a, ada, remote)
			})
		}
		wg.Wait()
		require.Equal(t, 41*verification, time.Since(start))
	})
}

// TestParallelGuessesCountOneByOne checks that guesses at the same time are delayed as if
// they came one after the other.
func TestParallelGuessesCountOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := throttle.NewAttempts(nil)
		start := time.Now()
		var mu sync.Mutex
		var verified []time.Duration
		var busy int
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				end, err := a.Begin(t.Context(), ada, throttle.Client{Remote: remote})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					busy++
					return
				}
				defer end()
				verified = append(verified, time.Since(start))
				_ = refuse(a, ada, remote)
			})
		}
		synctest.Wait()
		for _, other := range [][2]string{{ada, elsewhere}, {nobody, remote}} {
			end, err := a.Begin(t.Context(), other[0], throttle.Client{Remote: other[1]})
			require.NoError(t, err)
			require.Zero(t, time.Since(start), "others do not wait")
			end()
		}
		wg.Wait()
		require.Equal(t, 200, busy+len(verified))
		require.LessOrEqual(t, len(verified), 41+1+64, "41 without a delay, one after its delay, and 64 that wait")
		at := func(i int) time.Duration { return verified[i].Round(10 * time.Millisecond) }
		for i := range 41 {
			require.Zero(t, at(i))
		}
		require.Equal(t, 250*time.Millisecond, at(41))
		require.Equal(t, 750*time.Millisecond, at(42))
		require.Equal(t, 1750*time.Millisecond, at(43))
		require.Equal(t, 4*time.Second, at(60)-at(59))
	})
}

// TestAFloodOfNamesForgetsNoGuesses checks that guesses at many accounts neither lower the
// count of another nor delay it.
func TestAFloodOfNamesForgetsNoGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := throttle.NewAttempts(nil)
		for range 43 {
			_ = refuse(a, ada, remote)
		}
		for i := range 20_000 {
			_ = refuse(a, strconv.Itoa(i), elsewhere)
		}
		took := func(account string) time.Duration {
			start := time.Now()
			end, err := a.Begin(t.Context(), account, throttle.Client{Remote: remote})
			require.NoError(t, err)
			end()
			return time.Since(start)
		}
		require.GreaterOrEqual(t, took(ada), time.Second)
		require.Zero(t, took(nobody))
	})
}

func TestRefusalsAreCountedByAddressAndNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := throttle.NewAttempts(nil)
		count := func(address string, n int) (limited int) {
			for i := range n {
				if refuse(a, string(rune('a'+i%26))+string(rune('a'+i/26%26))+address, address) != nil {
					limited++
				}
			}
			return limited
		}
		require.Zero(t, count("192.0.2.1", 60))
		require.Equal(t, 10, count("192.0.2.1", 10))
		require.Zero(t, count("2001:db8:0:1::1", 60))
		require.Equal(t, 10, count("2001:db8:0:1:ffff::2", 10), "addresses of one /64 belong to one client")
		require.Zero(t, count("192.0.2.2", 60))
		for _, last := range []string{"3", "4", "5"} {
			_ = count("192.0.2."+last, 60)
		}
		require.Positive(t, count("192.0.2.6", 10), "addresses of one network belong together")
		<-time.After(time.Hour)
		require.Zero(t, count("192.0.2.1", 60), "counts fall with time")
	})
}
