package awskms

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/smithy-go"
	"github.com/tink-crypto/tink-go-awskms/v3/integration/awskms"
	"github.com/tink-crypto/tink-go/v2/aead"
)

// requestTimeout bounds a request, and maxAttempts the attempts of one call.
const (
	requestTimeout = 4 * time.Second
	maxAttempts    = 2
)

// Key is a key of AWS KMS. It implements secret.KeyService.
type Key struct {
	uri      string
	envelope *aead.KMSEnvelopeAEADWithContext
}

var keyURI = regexp.MustCompile(`^aws-kms://(arn:[a-z-]+:kms:([a-z0-9-]+):.+)$`)

// New returns the key of a URI aws-kms://arn:…. endpoint, if not empty, replaces the
// address of the region. New sends no request.
func New(ctx context.Context, uri, endpoint string) (*Key, error) {
	match := keyURI.FindStringSubmatch(uri)
	if match == nil {
		return nil, fmt.Errorf("not the URI of a key of AWS KMS: %q", uri)
	}
	settings, err := config.LoadDefaultConfig(ctx, config.WithRegion(match[2]), config.WithRetryMaxAttempts(maxAttempts),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(requestTimeout)))
	if err != nil {
		return nil, fmt.Errorf("configuration of AWS: %w", err)
	}
	client := kms.NewFromConfig(settings, func(o *kms.Options) {
		o.BaseEndpoint = nil // the environment does not choose the address
		if endpoint != "" {
			o.BaseEndpoint = &endpoint
		}
	})
	remote, err := awskms.NewAEADWithContext(ctx, match[1], awskms.WithKMS(client))
	if err != nil {
		return nil, err
	}
	envelope, err := aead.NewKMSEnvelopeAEADWithContext(aead.AES256GCMKeyTemplate(), remote)
	if err != nil {
		return nil, err
	}
	return &Key{uri: uri, envelope: envelope}, nil
}

// URI returns the URI of the key.
func (k *Key) URI() string { return k.uri }

// Encrypt encrypts a text. Errors have the code of the KMS or the reason why it cannot be
// reached.
func (k *Key) Encrypt(ctx context.Context, plain, associated []byte) ([]byte, error) {
	sealed, err := k.envelope.EncryptWithContext(ctx, plain, associated)
	return sealed, k.reason("encrypt", err)
}

// Decrypt decrypts a text of Encrypt. Its errors are like those of Encrypt.
func (k *Key) Decrypt(ctx context.Context, sealed, associated []byte) ([]byte, error) {
	plain, err := k.envelope.DecryptWithContext(ctx, sealed, associated)
	return plain, k.reason("decrypt", err)
}

// reason describes an error. Of an answer it has the code only, because the message may
// repeat parts of the request.
func (k *Key) reason(action string, err error) error {
	var answer smithy.APIError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answer):
		return fmt.Errorf("%s with %s: the service answers %s", action, k.uri, answer.ErrorCode())
	}
	return fmt.Errorf("%s with %s: %w", action, k.uri, err)
}
