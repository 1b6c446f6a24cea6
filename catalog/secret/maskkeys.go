package secret

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead/aesgcm"
	"github.com/tink-crypto/tink-go/v2/insecuresecretdataaccess"

	"github.com/lakewarden/lakewarden/catalog"
)

// MaskKeys makes the keys under which masked values are hashed, one for each
// table. They are derived and never stored; whoever holds the key file makes the
// same ones at any time. It is immutable and safe for concurrent use.
type MaskKeys struct{ root []byte }

// maskKeyBytes is the size of a key.
const maskKeyBytes = sha256.Size

// LoadMaskKeys reads a key file, which exists once [Load] returned. The keys
// come from the first key of the file: rotation adds others behind it, and
// hashes stay what they were. ErrKeyFile.
func LoadMaskKeys(path string) (*MaskKeys, error) {
	handle, err := readKeys(path)
	if err != nil {
		return nil, err
	}
	if handle == nil || handle.Len() == 0 {
		return nil, fmt.Errorf("%w: it is gone", ErrKeyFile)
	}
	first, err := handle.Entry(0)
	if err != nil {
		return nil, fmt.Errorf("%w: its first key cannot be read", ErrKeyFile)
	}
	key, ok := first.Key().(*aesgcm.Key)
	if !ok {
		return nil, fmt.Errorf("%w: its keys are of another kind", ErrKeyFile)
	}
	root, err := hkdf.Extract(sha256.New, key.KeyBytes().Data(insecuresecretdataaccess.Token{}), []byte("lakewarden masks"))
	if err != nil {
		return nil, fmt.Errorf("%w: no key can be derived", ErrKeyFile)
	}
	return &MaskKeys{root}, nil
}

// MaskKey returns the key of one table: derived from one of the organisation,
// which is derived from the key file's.
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
