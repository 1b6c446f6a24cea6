package secret

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead/aesgcm"
	"github.com/tink-crypto/tink-go/v2/insecuresecretdataaccess"

	"github.com/lakewarden/lakewarden/catalog"
)

// MaskKeys derives the keys for hashing masked values, one for each table. The keys are
// not stored. The same key file always gives the same keys. It is immutable and safe
// for concurrent use.
type MaskKeys struct{ root []byte }

// maskKeyBytes is the size of a key.
const maskKeyBytes = sha256.Size

// LoadMaskKeys reads a key file, which exists once [Load] has returned. The keys are
// derived from the first key of the file. Rotation appends keys, so hashes do not
// change. Errors wrap ErrKeyFile.
func LoadMaskKeys(path string) (*MaskKeys, error) {
	handle, err := readKeys(path)
	if err != nil {
		return nil, err
	}
	if handle == nil || handle.Len() == 0 {
		return nil, fmt.Errorf("%w: it was removed", ErrKeyFile)
	}
	first, err := handle.Entry(0)
	if err != nil {
		return nil, fmt.Errorf("%w: its first key cannot be read", ErrKeyFile)
	}
	key, ok := first.Key().(*aesgcm.Key)
	if !ok {
		return nil, fmt.Errorf("%w: its keys have another type", ErrKeyFile)
	}
	root, err := hkdf.Extract(sha256.New, key.KeyBytes().Data(insecuresecretdataaccess.Token{}), []byte("lakewarden masks"))
	if err != nil {
		return nil, fmt.Errorf("%w: cannot derive a key", ErrKeyFile)
	}
	return &MaskKeys{root}, nil
}

// MaskKey returns the key of one table. It is derived from a key of the organisation,
// which is derived from the key file.
func (k *MaskKeys) MaskKey(org catalog.OrgID, table catalog.DeltaID) ([]byte, error) {
	ofOrg, err := hkdf.Expand(sha256.New, k.root, "organisation "+string(org), maskKeyBytes)
	if err != nil {
		return nil, fmt.Errorf("mask key of %s: %w", table, ErrKeyFile)
	}
	ofTable, err := hkdf.Expand(sha256.New, ofOrg, "table "+string(table), maskKeyBytes)
	if err != nil {
		return nil, fmt.Errorf("mask key of %s: %w", table, ErrKeyFile)
	}
	return ofTable, nil
}
