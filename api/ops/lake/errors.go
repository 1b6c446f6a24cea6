package lake

import "github.com/lakewarden/lakewarden/api/ops/fault"

var (
	// ErrTableVanished: the table is in the catalog, but its folder has no log. Restore
	// the folder or drop the table: 409.
	ErrTableVanished = fault.New("table_vanished", "table vanished")
	// ErrTableIdentity: another Delta table is in the folder of a governed one. A
	// holder of rls_policies:write decides: 409.
	ErrTableIdentity = fault.New("table_identity_changed", "table identity changed")
	// ErrStorageKind: the storage has another kind than the request needs, or one that
	// this server cannot read: 422.
	ErrStorageKind = fault.New("wrong_kind", "storage kind not supported")
)
