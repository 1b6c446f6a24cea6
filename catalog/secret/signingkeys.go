package secret

import "github.com/lakewarden/lakewarden/catalog"

// SigningKeys seals the private keys that sign access tokens.
type SigningKeys struct{ Keyring *Keyring }

func signingKey(id string) Binding { return Binding{Kind: catalog.SealedSigningKey, Subject: id} }

// Seal encrypts the private key with an id.
func (s SigningKeys) Seal(id string, plain []byte) ([]byte, error) {
	return s.Keyring.Seal(signingKey(id), plain)
}

// Open decrypts the private key with an id.
func (s SigningKeys) Open(id string, sealed []byte) ([]byte, error) {
	return s.Keyring.Open(signingKey(id), sealed)
}
