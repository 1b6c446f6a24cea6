package throttle

import (
	"context"
	"time"
)

// TooManyError is returned for a refused credential if its account, address or network has
// too many refused ones, and for an invitation to an address that was invited too often, or by
// a member who has sent too many. An accepted credential never causes it.
type TooManyError struct{ Wait time.Duration }

// Error implements error.
func (e *TooManyError) Error() string { return "too many refused sign-ins or e-mails" }

// ProblemCode names the line in the table of errors.
func (e *TooManyError) ProblemCode() string { return "rate_limited" }

// RetryIn returns when the next refused credential would be answered, or the next
// invitation sent.
func (e *TooManyError) RetryIn() time.Duration { return e.Wait }

// Attempts counts refused sign-ins by account, remote address and network. The counts fall
// with time. A caller verifies the credential first and counts afterwards, so that nobody can
// lock an account by signing in wrongly. What slows down guessing is a delay before the
// verification, for the account and the client that guess. Attempts for one account by one client
// are verified one after the other, so that each meets the count of the ones before it.
//
// Attempts is safe for concurrent use. Each replica counts by itself.
type Attempts struct {
	tally tally
	// pairs counts by account and client.
	pairs *meter
	lines *lines
}

// NewAttempts returns empty counters. If now is nil, [time.Now] is used.
func NewAttempts(now func() time.Time) *Attempts {
	if now == nil {
		now = time.Now
	}
	return &Attempts{
		tally: newTally(now, newMeter(now, 20, 30*time.Second)), pairs: newMeter(now, freeGuesses, 20*time.Second), lines: newLines(maxLine),
	}
}

const (
	// freeGuesses is how many refusals of an account and client cause no delay. It is that high
	// because everybody behind one address is one client: the right password of somebody there
	// waits for the verifications of as many wrong ones, and not for their delays.
	freeGuesses = 40
	// The delays before the verification of an account and client that guess.
	firstDelay   = 250 * time.Millisecond
	longestDelay = 4 * time.Second
	// maxLine is how many attempts for one account by one client may wait.
	maxLine = 64
)

// Client is who attempts to sign in to an account.
type Client struct {
	// Remote is the network address.
	Remote string
	// Browser is the id of a browser in which the person signed in to the account before; "" for
	// any other client. Such a browser is a client of its own, whatever its address.
	Browser string
}

// pair is the name of an account and a client. An account is an e-mail address, which has no spaces.
func pair(account string, c Client) string {
	if c.Browser != "" {
		return account + " browser " + c.Browser
	}
	return account + " " + remoteRange(c.Remote)
}

// Begin waits until an attempt may be verified: until those before it, for the account by the
// client, have ended, and then, if more than freeGuesses of them were refused, for a delay.
// Each further refusal doubles the delay, up to longestDelay. The caller calls end once,
// after the attempt was counted. It returns [errLine], or the error of ctx if that ends first.
func (a *Attempts) Begin(ctx context.Context, account string, c Client) (end func(), err error) {
	name := pair(account, c)
	if end, err = a.lines.wait(ctx, name); err != nil {
		return nil, err
	}
	if err := a.delay(ctx, a.pairs.excess(name)); err != nil {
		end()
		return nil, err
	}
	return end, nil
}

func (a *Attempts) delay(ctx context.Context, guesses int) error {
	if guesses <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(longestDelay, firstDelay<<(min(guesses, 10)-1))):
		return nil
	}
}

// Refused counts a refused attempt. It returns a [TooManyError] if the account, the
// remote address or the network has too many, else nil. audited reports whether the audit log
// gets an entry, and limited names what has too many; see [tally].
func (a *Attempts) Refused(account string, c Client) (limited string, audited bool, err error) {
	a.pairs.add(pair(account, c))
	wait, limited, audited := a.tally.add(account, c.Remote)
	if wait > 0 {
		err = &TooManyError{wait}
	}
	return limited, audited, err
}
