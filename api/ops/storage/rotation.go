package storage

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/storage"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

// ErrNoStoredSecret is returned by the rotation of a delegated configuration, which has
// no credential: 422.
var ErrNoStoredSecret = fault.New("oauth_config_has_no_secret", "storage configuration holds no secret")

// probeTimeout bounds the test of a configuration, which is shorter than a request may take.
const probeTimeout = 30 * time.Second

// ProbeReport is the result of testing a configuration.
type ProbeReport = storage.Report

// ProbeCheck is one line of a [ProbeReport].
type ProbeCheck = storage.Check

// Rotation is the input of [Configs.Rotate].
type Rotation struct {
	// Kind is the kind of the credential.
	Kind string
	// Credential is a JSON object with the credential.
	Credential kind.Secret
	// ExpiresAt is nil if it is unknown, or if the credential does not expire.
	ExpiresAt *time.Time
	// DryRun tests the credential without storing it.
	DryRun bool
}

// Rotate replaces the credential after the store has accepted the new one. Until then,
// and if the store rejects it, the old one stays in use. Rotate returns the report of the
// test. The location and the settings do not change.
func (o Configs) Rotate(ctx context.Context, id catalog.ConfigID, in Rotation) (catalog.StorageConfig, ProbeReport, error) {
	a, config, err := o.configurable(ctx, id, auth.ScopeStorageConfigsShare)
	if err != nil {
		return config, ProbeReport{}, err
	}
	if config.Kind == catalog.KindDelegated {
		return config, ProbeReport{}, ErrNoStoredSecret
	}
	k, ok := o.Kinds[in.Kind]
	if !ok || in.Kind != string(config.Kind) {
		return config, ProbeReport{}, lake.ErrStorageKind
	}
	access, err := k.Access(config.Settings, in.Credential)
	if err != nil {
		return config, ProbeReport{}, err
	}
	record, secret, err := o.checked(ctx, access, config.Org, id, in.ExpiresAt)
	if err != nil {
		return config, ProbeReport{}, err
	}
	report, err := probe(ctx, access)
	if err != nil || in.DryRun {
		return config, report, err
	}
	if err := probeError(report, record.Container); err != nil {
		return config, report, err
	}
	// Only the version that was tested is changed.
	config, err = o.Store.ReplaceStorageSecret(ctx, a.Viewer, id, config.Version, secret)
	return config, report, err
}

// probe tests a credential with real objects.
func probe(ctx context.Context, access kind.Access) (ProbeReport, error) {
	bucket, closer, err := access.Open()
	if err != nil {
		return ProbeReport{}, err
	}
	defer closer.Close()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return storage.Probe(ctx, bucket), nil
}

// probeError returns the error for a test that failed, or nil. container is the field of
// a request that names the bucket.
func probeError(report ProbeReport, container string) error {
	err := report.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, objstore.ErrNoBucket):
		return kind.Refuse(container, "does not exist")
	case errors.Is(err, objstore.ErrDenied):
		return &RejectedError{report}
	case errors.Is(err, storage.ErrNotAtomic), errors.Is(err, storage.ErrContent):
		return err
	}
	// The causes are included as text only: an unknown outcome of a test needs no reply
	// of its own.
	return fmt.Errorf("%w: %v", objstore.ErrUnavailable, err)
}

// RejectedError is returned for a credential that lacks rights that tables need in the
// store. The details name the checks that failed.
type RejectedError struct{ Report ProbeReport }

// Error implements error.
func (e *RejectedError) Error() string { return "credential rejected: " + e.Report.Err().Error() }

// ProblemCode returns the code of package problem.
func (e *RejectedError) ProblemCode() string { return "credential_rejected" }

// FieldProblems yields the failed checks.
func (e *RejectedError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, check := range e.Report.Checks {
			if !check.OK && !yield(check.Name, check.Reason) {
				return
			}
		}
	}
}
