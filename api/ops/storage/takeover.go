package storage

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

// TakeOver makes the caller the owner of a delegated configuration, so that it is opened with the
// link of the caller from now on. It is for a configuration in a workspace whose owner has no link any
// more, and needs the rights of a rotation. The store must accept the link of the caller first. The
// location, the workspace and the tables do not change.
func (o Configs) TakeOver(ctx context.Context, id catalog.ConfigID) (catalog.StorageConfig, error) {
	a, config, err := o.configurable(ctx, id, auth.ScopeStorageConfigsShare)
	switch {
	case err != nil:
		return config, err
	case config.Kind != catalog.KindDelegated:
		return config, lake.ErrStorageKind
	case config.Owner == a.User:
		return config, nil
	}
	k, ok := o.Kinds.For(string(config.Kind), kind.Owner{Org: string(config.Org), User: string(a.User)})
	if !ok {
		return config, lake.ErrStorageKind
	}
	access, err := k.Access(config.Settings, nil)
	if err != nil {
		return config, err
	}
	record, _, err := o.checked(ctx, access, config.Org, id, nil)
	if err != nil {
		return config, err
	}
	report, err := probe(ctx, access)
	if err == nil {
		err = probeError(report, record.Container)
	}
	if err != nil {
		return config, err
	}
	// Only the version that was tested is changed.
	taken, err := o.Store.TakeStorageConfig(ctx, a.Viewer, id, config.Version, a.User)
	if err == nil {
		recordSharing(o.Audit, a, "storage.taken_over", taken, map[string]string{"previous_owner_user_id": string(config.Owner)})
	}
	return taken, err
}
