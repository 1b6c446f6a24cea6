package tables

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/maintain"
	longwork "github.com/lakewarden/lakewarden/api/ops/operation"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type vacuumInput struct {
	v1.TablePath
	Prefer v1.Prefer `header:"Prefer" maxLength:"1024" doc:"respond-async: answer 202 with an operation"`
	Body   *struct { // optional
		DryRun         bool   `json:"dry_run,omitempty" doc:"Name the files and delete none"`
		Mode           string `json:"mode,omitempty" enum:"full,lite" doc:"full, the default, lists the table's folder; lite takes the removals that the log still tells of"`
		RetentionHours *int64 `json:"retention_hours,omitempty" minimum:"0" maximum:"876000" doc:"How long files stay after their removal; default: the table's delta.deletedFileRetentionDuration, or 168"`
		Enforce        *bool  `json:"enforce_retention_duration,omitempty" doc:"false allows fewer hours than the default; needs the role admin"`
		KeepVersions   bool   `json:"keep_all_versions,omitempty" doc:"Keep what any version needs that the log can still rebuild"`
	}
}

type vacuumed struct {
	DryRun       bool     `json:"dryRun"`
	FilesDeleted []string `json:"filesDeleted" nullable:"false" doc:"Names below the table's folder, at most 100000; none for callers who do not see the whole table"`
	Count        *int64   `json:"count" doc:"null for callers who do not see the whole table"`
}

type optimizeInput struct {
	v1.TablePath
	Prefer v1.Prefer `header:"Prefer" maxLength:"1024" doc:"respond-async: answer 202 with an operation"`
	Body   *struct { // optional
		TargetSize int64    `json:"target_size,omitempty" minimum:"1" maximum:"1099511627776" doc:"Bytes of the files to make; default: the table's delta.targetFileSize, or 100 MiB"`
		Where      string   `json:"where,omitempty" maxLength:"65536" doc:"Condition in SQL over partition columns that chooses the partitions"`
		ZOrderBy   []string `json:"zorder_by,omitempty" maxItems:"31" doc:"Bring near values of these columns near to each other in files"`
		DryRun     bool     `json:"dry_run,omitempty" doc:"Count the files and write none"`
	}
}

type optimized struct {
	FilesAdded   *int64 `json:"filesAdded" doc:"null for callers who do not see the whole table"`
	FilesRemoved *int64 `json:"filesRemoved" doc:"null for callers who do not see the whole table"`
}

// MaintenanceRoutes registers the routes that compact tables and delete unused files.
func MaintenanceRoutes(api huma.API, tables maintain.Service) {
	// The members of these requests are in snake_case, and so are their errors.
	modify := v1.Route{Tag: "Tables", Scope: auth.ScopeTablesModify, Local: true}

	v1.AddDeferrable(api, modify.With("POST", v1.TableBase+"/vacuum", "vacuumTable", "Vacuum a table").
		Describe("Deletes files below the table's folder that no version within the retention needs. It goes on when the client goes away; a "+
			"long one is an operation, with Prefer: respond-async at once."),
		func(ctx context.Context, in *vacuumInput) (vacuumed, *catalog.Operation, error) {
			v, goesOn, err := tables.Vacuum(ctx, in.Path(), in.vacuum(), patience(tables.Operations, in.Prefer),
				func(v maintain.Vacuumed) any { return vacuumedOf(v) })
			return vacuumedOf(v), goesOn, err
		})
	v1.AddDeferrable(api, modify.With("POST", v1.TableBase+"/optimize", "optimizeTable", "Optimize a table").
		Describe("Rewrites small files into larger ones in one commit that changes no row. It goes on when the client goes away; a long one is "+
			"an operation, with Prefer: respond-async at once."),
		func(ctx context.Context, in *optimizeInput) (optimized, *catalog.Operation, error) {
			o, goesOn, err := tables.Optimize(ctx, in.Path(), in.optimize(), patience(tables.Operations, in.Prefer),
				func(o maintain.Optimized) any { return optimizedOf(o) })
			return optimizedOf(o), goesOn, err
		})
}

// patience returns how long a request waits for work that can continue without it.
func patience(o longwork.Service, prefer v1.Prefer) time.Duration {
	if prefer.Async() {
		return 0
	}
	return o.Patience
}

func (in *vacuumInput) vacuum() maintain.Vacuum {
	var v maintain.Vacuum
	b := in.Body
	if b == nil {
		return v
	}
	v = maintain.Vacuum{Mode: b.Mode, DryRun: b.DryRun, Insist: b.Enforce != nil && !*b.Enforce, KeepVersions: b.KeepVersions}
	if b.RetentionHours != nil {
		retention := time.Duration(*b.RetentionHours) * time.Hour
		v.Retention = &retention
	}
	return v
}

func vacuumedOf(v maintain.Vacuumed) vacuumed {
	return vacuumed{DryRun: v.DryRun, FilesDeleted: v.Files, Count: v.Count}
}

func (in *optimizeInput) optimize() maintain.Optimize {
	if in.Body == nil {
		return maintain.Optimize{}
	}
	b := in.Body
	return maintain.Optimize{TargetBytes: b.TargetSize, Where: b.Where, ZOrderBy: b.ZOrderBy, DryRun: b.DryRun}
}

func optimizedOf(o maintain.Optimized) optimized {
	return optimized{FilesAdded: o.FilesAdded, FilesRemoved: o.FilesRemoved}
}
