package admin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/storage"
)

// ensureSandbox makes the storage configuration of an organisation's sandbox and its
// directory, unless they exist. It is invisible until the organisation has the feature on.
func (o Organisations) ensureSandbox(ctx context.Context, org catalog.OrgID) error {
	if o.SandboxRoot == "" {
		return fault.Invalid("features", "sandbox is not available on this server")
	}
	at, err := SandboxRoots(o.SandboxRoot).Resolve(filepath.Join(o.SandboxRoot, string(org)), string(org))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(at, 0o750); err != nil {
		return err
	}
	_, err = o.Store.CreateSandbox(authz.System(ctx, "sandbox"), org, catalog.NewLocation("file", at))
	return err
}

// sandboxBatch is the number of sandboxes that are read at once.
const sandboxBatch = 100

// PurgedSandboxes deletes the folders of the sandboxes of purged organisations. Any number
// of replicas may sweep at once.
type PurgedSandboxes struct {
	Store interface {
		PurgedSandboxes(ctx context.Context, after catalog.OrgID, limit int) ([]catalog.PurgedSandbox, error)
		ForgetSandbox(ctx context.Context, org catalog.OrgID) error
	}
	// Root is the directory that contains those of the sandboxes.
	Root string
}

// Sweep tries every sandbox once. A folder that cannot be deleted is tried again by a later
// sweep.
func (o PurgedSandboxes) Sweep(ctx context.Context) error {
	ctx = authz.System(ctx, "purged sandboxes")
	var errs []error
	for after := catalog.OrgID(""); ; {
		page, err := o.Store.PurgedSandboxes(ctx, after, sandboxBatch)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		for _, p := range page {
			if err := o.remove(p); err != nil {
				errs = append(errs, fmt.Errorf("folder of the sandbox of %s: %w", p.Org, err))
				continue
			}
			errs = append(errs, o.Store.ForgetSandbox(ctx, p.Org))
		}
		if len(page) < sandboxBatch {
			return errors.Join(errs...)
		}
		after = page[len(page)-1].Org
	}
}

// errForeignFolder is returned for a folder that is not where this server makes sandboxes.
var errForeignFolder = errors.New("is not in the directory of sandboxes")

// remove deletes the folder that ensureSandbox has made. It follows no links, and deletes
// nothing if the folder is elsewhere, because the operator has moved the directory.
func (o PurgedSandboxes) remove(p catalog.PurgedSandbox) error {
	at, err := SandboxRoots(o.Root).Resolve(filepath.Join(o.Root, string(p.Org)), string(p.Org))
	if err != nil {
		return err
	}
	if o.Root == "" || catalog.NewLocation("file", at) != p.Location {
		return errForeignFolder
	}
	root, err := os.OpenRoot(o.Root)
	if err != nil {
		return err
	}
	return errors.Join(root.RemoveAll(string(p.Org)), root.Close())
}

// SandboxRoots returns the directories below which sandboxes are, by organisation.
func SandboxRoots(root string) storage.LocalRoots { return storage.LocalRoots{Allowed: []string{root}} }
