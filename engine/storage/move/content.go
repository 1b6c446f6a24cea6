package move

import (
	"context"
	"crypto/md5" //nolint:gosec // the checksum that stores have of their objects
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// hasher computes the checksums of a content.
type hasher struct{ md5, crc hash.Hash }

func newHasher() hasher {
	return hasher{md5.New(), crc32.New(crc32.MakeTable(crc32.Castagnoli))} //nolint:gosec // see the import
}

// Write implements io.Writer. It returns no error.
func (h hasher) Write(p []byte) (int, error) {
	h.md5.Write(p)
	h.crc.Write(p)
	return len(p), nil
}

func (h hasher) sums() objstore.Sums {
	return objstore.Sums{MD5: h.md5.Sum(nil), CRC32C: h.crc.Sum(nil)}
}

// hashed reads an object and returns the checksums of its content.
func hashed(ctx context.Context, bucket objstore.Bucket, name string) (objstore.Sums, error) {
	body, err := bucket.Get(ctx, name)
	if err != nil {
		return objstore.Sums{}, err
	}
	defer body.Close()
	h := newHasher()
	_, err = io.Copy(h, body)
	return h.sums(), err
}

// verify returns ErrDamaged if the target's object does not have the content that was written. It
// reads the object if the store has no checksum that confirms it: some stores return a checksum of
// another kind in the place of an MD5. confirmed reports that the store has it.
func (r *run) verify(ctx context.Context, name string, written objstore.Sums) (confirmed bool, _ error) {
	stored, err := objstore.StoredSums(ctx, r.Target, name)
	if err != nil {
		return false, err
	}
	if equal, _ := stored.Compare(written); equal {
		return true, nil
	}
	if stored, err = hashed(ctx, r.Target, name); err != nil {
		return false, err
	}
	if equal, _ := stored.Compare(written); !equal {
		return false, ErrDamaged
	}
	return false, nil
}

// verifyCopy returns ErrDamaged if a copy that the store has made itself differs from its source.
// The store is trusted if it has no checksums.
func (r *run) verifyCopy(ctx context.Context, name string) error {
	equal, known, err := compareStored(ctx, r.Source, r.Target, name)
	if err != nil || equal || !known {
		return err
	}
	if same, err := sameContent(ctx, r.Source, r.Target, name); err != nil || same {
		return err
	}
	return ErrDamaged
}

// compareStored compares the checksums that two stores have of an object. It returns false for known
// if these have no kind of checksum in common.
func compareStored(ctx context.Context, first, second objstore.Bucket, name string) (equal, known bool, _ error) {
	a, err := objstore.StoredSums(ctx, first, name)
	if err != nil || a.MD5 == nil && a.CRC32C == nil {
		return false, false, err
	}
	b, err := objstore.StoredSums(ctx, second, name)
	if err != nil {
		return false, false, err
	}
	equal, known = a.Compare(b)
	return equal, known, nil
}

// sameContent reports whether two buckets have an object with the same content. It reads the object
// of both unless the stores have equal checksums of it.
func sameContent(ctx context.Context, first, second objstore.Bucket, name string) (bool, error) {
	equal, _, err := compareStored(ctx, first, second, name)
	if err != nil || equal {
		return equal, err
	}
	a, err := hashed(ctx, first, name)
	if err != nil {
		return false, err
	}
	b, err := hashed(ctx, second, name)
	if err != nil {
		return false, err
	}
	equal, _ = a.Compare(b)
	return equal, nil
}

// stillValid reports whether the copy of an earlier run is valid; both objects have the same size.
// The content of a commit is compared, because another engine's commit can have the same size: the
// error is then ErrOccupied. Other objects are valid unless their checksums differ.
func (r *run) stillValid(ctx context.Context, name string) (valid bool, err error) {
	err = retry(ctx, func() error {
		if roleOf(name) == commit {
			valid = true
			return r.same(ctx, name)
		}
		equal, known, err := compareStored(ctx, r.Source, r.Target, name)
		valid = equal || !known
		return err
	})
	if errors.Is(err, objstore.ErrNotFound) {
		// Another engine has just deleted one of them.
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("compare %.200q: %w", name, err)
	}
	return valid, nil
}
