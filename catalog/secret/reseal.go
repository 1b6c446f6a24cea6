package secret

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"

	"github.com/lakewarden/lakewarden/catalog"
)

// DefaultSettle is the default of [Reseal.Settle].
const DefaultSettle = time.Minute

// resealPage is the number of secrets that are read at once.
const resealPage = 100

// Reseal seals every secret of a catalog with one key and removes all others from the key
// file. Servers may run meanwhile: they follow the file before they seal, and a key is
// removed only after a pass over all secrets has found nothing that it sealed.
//
// It can be ended at any point and repeated. The file holds every key that a secret
// needs at all times.
type Reseal struct {
	File  File
	Store catalog.SealedSecrets
	// KeepPrimary seals with the primary key of the file instead of a new one.
	KeepPrimary bool
	// IgnoreUnreadable removes the other keys even if the catalog holds secrets that no key
	// of the file opens. They stay unreadable.
	IgnoreUnreadable bool
	// Settle is the pause before every pass but the first. It exceeds the time between the
	// sealing of a secret and the commit of its record, and between the reading of a record
	// and the opening of its secret. 0 means DefaultSettle.
	Settle time.Duration
	// Progress, if not nil, is called after each kind of secrets in each pass.
	Progress func(Progress)
}

// Progress counts the secrets of one kind in one pass.
type Progress struct {
	Pass int
	Kind catalog.SealedKind
	// Total is the number of secrets, of which Current were sealed with the one key
	// already, Resealed have been sealed with it now, Changed were changed by others
	// meanwhile, and Unreadable open with no key.
	Total, Current, Resealed, Changed, Unreadable int
}

// pending reports whether another pass is needed.
func (p Progress) pending() bool { return p.Resealed+p.Changed > 0 }

// Run reseals all secrets and returns the number of keys that it removed. Errors wrap
// ErrKeyFile, ErrUnavailable, ErrUnreadable or those of the store.
func (r Reseal) Run(ctx context.Context) (removed int, err error) {
	unlock, err := r.File.lock()
	if err != nil {
		return 0, err
	}
	defer unlock()
	set, err := r.File.existing(ctx)
	if err != nil {
		return 0, err
	}
	if !r.KeepPrimary {
		if err := set.add(); err != nil {
			return 0, err
		}
		if err := r.File.replace(ctx, set); err != nil {
			return 0, err
		}
	}
	for pass := 1; ; pass++ {
		counted, err := r.pass(ctx, set, pass, true)
		if err != nil {
			return 0, err
		}
		if counted.Unreadable > 0 && !r.IgnoreUnreadable {
			return 0, fmt.Errorf("%w: %d; no key was removed", ErrUnreadable, counted.Unreadable)
		}
		if pass > 1 && !counted.pending() {
			break
		}
		if err := r.wait(ctx); err != nil {
			return 0, err
		}
	}
	return r.retire(ctx, set)
}

// Count is a dry run of Run: it counts the secrets as Run would find them and changes
// nothing. Resealed counts those that are not sealed with the present primary key.
func (r Reseal) Count(ctx context.Context) error {
	set, err := r.File.existing(ctx)
	if err == nil {
		_, err = r.pass(ctx, set, 1, false)
	}
	return err
}

// retire removes all keys but the primary one, unless the file has other keys than those
// with which the secrets were read.
func (r Reseal) retire(ctx context.Context, set keySet) (removed int, err error) {
	now, err := r.File.existing(ctx)
	if err != nil {
		return 0, err
	}
	if !slices.Equal(now.ids(), set.ids()) {
		return 0, fmt.Errorf("%w: it was changed during the reseal, and no key was removed: repeat the command", ErrKeyFile)
	}
	only, err := set.onlyPrimary()
	if err != nil {
		return 0, err
	}
	return len(set.ids()) - 1, r.File.replace(ctx, only)
}

func (r Reseal) wait(ctx context.Context) error {
	settle := r.Settle
	if settle == 0 {
		settle = DefaultSettle
	}
	timer := time.NewTimer(settle)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// pass reads all secrets once and returns the sum over all kinds.
func (r Reseal) pass(ctx context.Context, set keySet, number int, replace bool) (sum Progress, err error) {
	all, err := set.envelope()
	if err != nil {
		return sum, err
	}
	only, err := set.onlyPrimary()
	if err != nil {
		return sum, err
	}
	primary, err := only.envelope()
	if err != nil {
		return sum, err
	}
	for _, kind := range catalog.SealedKinds() {
		counted := Progress{Pass: number, Kind: kind}
		for after := (catalog.SealedSecret{Kind: kind}); ; {
			page, err := r.Store.ListSealedSecrets(ctx, after, resealPage)
			if err != nil {
				return sum, fmt.Errorf("list secrets of kind %s: %w", kind, err)
			}
			for _, found := range page {
				if err := r.one(ctx, found, all, primary, replace, &counted); err != nil {
					return sum, fmt.Errorf("reseal a secret of kind %s: %w", kind, err)
				}
			}
			if len(page) < resealPage {
				break
			}
			after = page[len(page)-1]
		}
		sum.Resealed, sum.Changed = sum.Resealed+counted.Resealed, sum.Changed+counted.Changed
		sum.Unreadable += counted.Unreadable
		if r.Progress != nil {
			r.Progress(counted)
		}
	}
	return sum, nil
}

// one seals one secret anew unless the primary key sealed it.
func (r Reseal) one(ctx context.Context, found catalog.SealedSecret, all, primary *aead.KMSEnvelopeAEAD, replace bool,
	counted *Progress) error {
	counted.Total++
	associated, ok := BindingOf(found).associated()
	if !ok {
		return fmt.Errorf("%w: unknown kind", ErrSealed)
	}
	if _, err := primary.Decrypt(found.Sealed, associated); err == nil {
		counted.Current++
		return nil
	}
	plain, err := all.Decrypt(found.Sealed, associated)
	if err != nil {
		counted.Unreadable++
		return nil
	}
	if !replace {
		counted.Resealed++
		return nil
	}
	sealed, err := primary.Encrypt(plain, associated)
	if err != nil {
		return fmt.Errorf("%w: cannot seal", ErrKeyFile)
	}
	replaced, err := r.Store.ReplaceSealedSecret(ctx, found, sealed)
	switch {
	case err != nil:
		return err
	case replaced:
		counted.Resealed++
	default:
		counted.Changed++
	}
	return nil
}
