package secret

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

// keySet is the content of a key file.
type keySet struct {
	// handle holds the keys that encrypt data keys. The primary one seals.
	handle *keyset.Handle
	// maskRoot is the root from which mask keys are derived. It never changes.
	maskRoot []byte
}

// document is the JSON text of a key file, in one of three forms: keys and the root of
// masks; both encrypted by a key service; or the keys only, from which the root is derived.
type document struct {
	Keys     json.RawMessage `json:"keys,omitempty"`
	MaskRoot []byte          `json:"maskRoot,omitempty"`

	KeyService string `json:"keyService,omitempty"`
	Encrypted  []byte `json:"encrypted,omitempty"`

	PrimaryKeyID json.RawMessage `json:"primaryKeyId,omitempty"`
	Key          json.RawMessage `json:"key,omitempty"`
}

// fileContext is the associated data of encrypted key files.
const fileContext = "lakewarden key file"

// newKeySet returns a set of one key.
func newKeySet() (keySet, error) {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return keySet{}, fmt.Errorf("%w: cannot generate a key", ErrKeyFile)
	}
	root := make([]byte, maskKeyBytes)
	_, _ = rand.Read(root) // never fails
	return keySet{handle: handle, maskRoot: root}, nil
}

// add adds a primary key.
func (s *keySet) add() error {
	manager := keyset.NewManagerFromHandle(s.handle)
	id, err := manager.Add(aead.AES256GCMKeyTemplate())
	if err == nil {
		err = manager.SetPrimary(id)
	}
	if err == nil {
		s.handle, err = manager.Handle()
	}
	if err != nil {
		return fmt.Errorf("%w: cannot add a key", ErrKeyFile)
	}
	return nil
}

// ids returns the ids of the keys, the primary one first.
func (s keySet) ids() []uint32 {
	info := s.handle.KeysetInfo()
	ids := []uint32{info.PrimaryKeyId}
	for _, key := range info.KeyInfo {
		if key.KeyId != info.PrimaryKeyId {
			ids = append(ids, key.KeyId)
		}
	}
	return ids
}

// onlyPrimary returns the set without its other keys.
func (s keySet) onlyPrimary() (keySet, error) {
	manager := keyset.NewManagerFromHandle(s.handle)
	for _, id := range s.ids()[1:] {
		if err := manager.Delete(id); err != nil {
			return keySet{}, fmt.Errorf("%w: cannot remove a key", ErrKeyFile)
		}
	}
	handle, err := manager.Handle()
	if err != nil {
		return keySet{}, fmt.Errorf("%w: cannot remove a key", ErrKeyFile)
	}
	return keySet{handle: handle, maskRoot: s.maskRoot}, nil
}

// envelope returns an AEAD whose data keys are encrypted by the keys of the set.
func (s keySet) envelope() (*aead.KMSEnvelopeAEAD, error) {
	outer, err := aead.New(s.handle)
	if err != nil {
		return nil, fmt.Errorf("%w: its keys have another type", ErrKeyFile)
	}
	return aead.NewKMSEnvelopeAEAD2(aead.AES256GCMKeyTemplate(), outer), nil
}

// decode reads the content of a key file. It requires that the service of f encrypted it,
// or none if f has none. Errors wrap ErrKeyFile or ErrUnavailable.
func (f File) decode(ctx context.Context, content []byte) (keySet, error) {
	doc, err := parse(content)
	switch {
	case err != nil:
		return keySet{}, err
	case f.Service == nil && doc.KeyService != "":
		return keySet{}, fmt.Errorf("%w: it is encrypted by %s, and the setting key_kms_uri is empty", ErrKeyFile, doc.KeyService)
	case f.Service != nil && doc.KeyService == "":
		return keySet{}, fmt.Errorf("%w: its keys are not encrypted by %s: run `lakewarden keys wrap`", ErrKeyFile, f.Service.URI())
	case f.Service != nil && doc.KeyService != f.Service.URI():
		return keySet{}, fmt.Errorf("%w: it is encrypted by %s, not by %s: run `lakewarden keys wrap`", ErrKeyFile,
			doc.KeyService, f.Service.URI())
	case f.Service == nil:
		return doc.keySet()
	}
	plain, err := f.Service.Decrypt(ctx, doc.Encrypted, []byte(fileContext))
	if err != nil {
		return keySet{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if doc, err = parse(plain); err != nil {
		return keySet{}, err
	}
	return doc.keySet()
}

func parse(content []byte) (doc document, err error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&doc); err != nil {
		return doc, fmt.Errorf("%w: not a keyset", ErrKeyFile)
	}
	if doc.Key != nil {
		doc = document{Keys: content}
	}
	return doc, nil
}

func (d document) keySet() (keySet, error) {
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(d.Keys)))
	if err != nil {
		return keySet{}, fmt.Errorf("%w: not a keyset", ErrKeyFile)
	}
	if len(d.MaskRoot) == maskKeyBytes {
		return keySet{handle: handle, maskRoot: d.MaskRoot}, nil
	}
	if len(d.MaskRoot) > 0 {
		return keySet{}, fmt.Errorf("%w: not a keyset", ErrKeyFile)
	}
	root, err := deriveMaskRoot(handle)
	return keySet{handle: handle, maskRoot: root}, err
}

// encode returns the content of a key file, encrypted if f has a service.
func (f File) encode(ctx context.Context, set keySet) ([]byte, error) {
	var keys bytes.Buffer
	if err := insecurecleartextkeyset.Write(set.handle, keyset.NewJSONWriter(&keys)); err != nil {
		return nil, fmt.Errorf("%w: cannot be written", ErrKeyFile)
	}
	content, err := json.Marshal(document{Keys: keys.Bytes(), MaskRoot: set.maskRoot})
	if err != nil {
		return nil, fmt.Errorf("%w: cannot be written", ErrKeyFile)
	}
	if f.Service == nil {
		return content, nil
	}
	encrypted, err := f.Service.Encrypt(ctx, content, []byte(fileContext))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	content, err = json.Marshal(document{KeyService: f.Service.URI(), Encrypted: encrypted})
	if err != nil {
		return nil, fmt.Errorf("%w: cannot be written", ErrKeyFile)
	}
	return content, nil
}
