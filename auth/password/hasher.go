package password

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"runtime"
)

// Options are the optional parts of a [Hasher]; the zero value works.
type Options struct {
	// Params are the costs of new hashes; zero means [DefaultParams].
	Params Params
	// Running is how many hashes are computed at once; 0 means the number of processors.
	Running int
	// Waiting is how many callers may wait for their turn; 0 means 1,024.
	Waiting int
}

// Hasher hashes and verifies passwords. It is safe for concurrent use.
type Hasher struct {
	params Params
	turns  *turns
	// unknown is the hash that passwords of accounts without one are compared with. Its
	// key is random, so no password matches it.
	unknown hash
}

// New returns a hasher.
func New(o Options) *Hasher {
	if o.Params == (Params{}) {
		o.Params = DefaultParams
	}
	if o.Running <= 0 {
		o.Running = runtime.GOMAXPROCS(0)
	}
	if o.Waiting <= 0 {
		o.Waiting = 1024
	}
	unknown := hash{params: o.Params, salt: random(saltSize), key: random(keySize)}
	return &Hasher{params: o.Params, turns: newTurns(o.Running, o.Waiting), unknown: unknown}
}

func random(size int) []byte {
	raw := make([]byte, size)
	_, _ = rand.Read(raw) // never fails
	return raw
}

// Hash returns the PHC string of a password with a new salt. See [Hasher.Verify] for the
// errors.
func (h *Hasher) Hash(ctx context.Context, source Source, password string) (string, error) {
	made := hash{params: h.params, salt: random(saltSize), key: make([]byte, keySize)}
	key, err := h.run(ctx, source, made, password)
	if err != nil {
		return "", err
	}
	made.key = key
	return made.String(), nil
}

// Verified is the result of [Hasher.Verify].
type Verified struct {
	// Match reports whether the password is the one that was hashed.
	Match bool
	// Outdated reports that the password matches and that its hash has other costs than
	// new ones, so that it should be replaced.
	Outdated bool
}

// Verify compares a password with a stored hash. An empty hash matches no password; the
// comparison takes as long as one with a new hash.
//
// Callers of different sources take turns. Verify returns the error of ctx if ctx ends before
// the turn comes, [ErrBusy] if too many callers wait, and [ErrHash] if the stored hash is not
// valid.
func (h *Hasher) Verify(ctx context.Context, source Source, password, stored string) (Verified, error) {
	expected := h.unknown
	if stored != "" {
		var err error
		if expected, err = parseHash(stored); err != nil {
			return Verified{}, err
		}
	}
	key, err := h.run(ctx, source, expected, password)
	if err != nil {
		return Verified{}, err
	}
	match := subtle.ConstantTimeCompare(key, expected.key) == 1 && stored != ""
	return Verified{Match: match, Outdated: match && expected.params != h.params}, nil
}

// run computes a key when the turn of the source comes.
func (h *Hasher) run(ctx context.Context, source Source, with hash, password string) ([]byte, error) {
	done, err := h.turns.wait(ctx, source)
	if err != nil {
		return nil, err
	}
	defer done()
	return with.compute([]byte(Normalise(password))), nil
}
