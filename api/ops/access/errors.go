package access

import (
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
)

var (
	// ErrTableAmbiguous: the caller sees two live tables with one id: 409.
	ErrTableAmbiguous = fault.New("table_id_ambiguous", "table id ambiguous")
	// ErrTableVanished is [lake.ErrTableVanished].
	ErrTableVanished = lake.ErrTableVanished
	// ErrTableIdentity is [lake.ErrTableIdentity].
	ErrTableIdentity = lake.ErrTableIdentity
	// ErrReferenceNotShared: the table from which a domain takes its values is not visible
	// to everybody who sees the table of the domain's column: 422.
	ErrReferenceNotShared = fault.New("source_not_shared", "source of a domain is not shared")
	// ErrRowsFiltered: the operation is for callers who see all of the table, because it
	// would reveal hidden values to others: 403.
	ErrRowsFiltered error = &catalog.DeniedError{Reason: "rows_filtered"}
	// ErrPartlyVisible: the change is one of the whole table, of which the caller sees only a
	// part, and the caller may not change policies: 403.
	ErrPartlyVisible error = &catalog.DeniedError{Reason: "table_partly_visible"}
)
