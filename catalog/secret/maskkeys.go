package secret

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead/aesgcm"
	"github.com/tink-crypto/tink-go/v2/insecuresecretdataaccess"
	"github.com/tink-crypto/tink-go/v2/keyset"

	"github.com/lakewarden/lakewarden/catalog"
)

// maskKeyBytes is the size of a key of masks, and of the root that they are derived from.
const maskKeyBytes = sha256.Size

// deriveMaskRoot returns the root of a key file that does not store it: it follows from
// the first key.
func deriveMaskRoot(handle *keyset.Handle) ([]byte, error) {
	if handle.Len() == 0 {
		return nil, fmt.Errorf("%w: it has no key", ErrKeyFile)
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
	return root, nil
}

// MaskKey returns the key for hashing the masked values of one registration of a table. It is
// derived from the key file and not stored, and no rotation changes it. The id in the table's log
// does not suffice: whoever writes a table elsewhere can give it the same id, with values whose
// hashes are then known. Errors wrap ErrKeyFile or ErrUnavailable.
func (k *Keyring) MaskKey(org catalog.OrgID, table catalog.TableID) ([]byte, error) {
	loaded, err := k.current()
	if err != nil {
		return nil, err
	}
	ofOrg, err := hkdf.Expand(sha256.New, loaded.maskRoot, "organisation "+string(org), maskKeyBytes)
	if err != nil {
		return nil, fmt.Errorf("mask key of %s: %w", table, ErrKeyFile)
	}
	ofTable, err := hkdf.Expand(sha256.New, ofOrg, "table "+string(table), maskKeyBytes)
	if err != nil {
		return nil, fmt.Errorf("mask key of %s: %w", table, ErrKeyFile)
	}
	return ofTable, nil
}

// BrowserKey returns the key for authenticating what browsers keep for the server. It is derived
// like a mask key. Errors wrap ErrKeyFile or ErrUnavailable.
func (k *Keyring) BrowserKey() ([]byte, error) {
	loaded, err := k.current()
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Expand(sha256.New, loaded.maskRoot, "browsers", maskKeyBytes)
	if err != nil {
		return nil, fmt.Errorf("key of browsers: %w", ErrKeyFile)
	}
	return key, nil
}
