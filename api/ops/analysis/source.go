package analysis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/sessions"
)

// errOtherTables refuses a condition with a subquery over another table. The rules of that
// table would have to be remembered with the answer, too.
var errOtherTables = fault.Invalid("where", "must not read other tables")

// source runs the statements of one analysis as its caller.
type source struct {
	service *Service
	caller  caller.Identity
	path    access.Path
	where   string
	// tables are the versions that statements may read, described has the older ones.
	tables    []access.Table
	described map[int64]analysis.Table
	// ends is the time at which the whole analysis must have ended.
	ends time.Time
}

// query implements [analysis.Input.Query].
func (s *source) query(ctx context.Context, sql string) (engine.Result, error) {
	left := time.Until(s.ends)
	if left < time.Millisecond {
		return nil, engine.ErrTimeout
	}
	// The statement waits for its turn, because a refusal would waste the work done so far.
	rows, err := sessions.WhenFree(ctx, func() (*query.Rows, error) {
		return s.service.Queries.Run(ctx, query.Statement{
			SQL: sql, Schema: s.path.Schema, Timeout: min(left, s.service.Queries.Limits.MaxTimeout),
		})
	})
	if err != nil {
		return nil, s.blame(err)
	}
	if err := s.checkTables(rows.Basis()); err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	return blamed{rows, s}, nil
}

// checkTables returns an error if a statement reads more than the table of the analysis, or if it
// reads that under other rules. A version of a replaced table counts as another table, unless
// the analysis is about it.
func (s *source) checkTables(basis access.Basis) error {
	if basis.Lists() {
		return errOtherTables
	}
	for _, t := range basis.Tables() {
		if !slices.ContainsFunc(s.tables, func(o access.Table) bool {
			return o.Located().ID == t.Located().ID && o.Replaced() == t.Replaced()
		}) {
			return errOtherTables
		}
		for _, o := range s.tables {
			if o.Snapshot().Version() == t.Snapshot().Version() && !o.SameRules(t) {
				return query.ErrResultStale
			}
		}
	}
	return nil
}

// blame turns an error of a generated statement into an error of the caller's condition,
// which is the only text of the caller in the statement. Without a condition such an error is
// a defect of the server, whose details go to its log.
func (s *source) blame(err error) error {
	var own *fault.StatementError
	var placed *refusal.Placed
	var refused *refusal.Error
	var failed *engine.Error
	switch {
	case errors.As(err, &own):
		if own.Reason != "" {
			return err // about the table
		}
		if s.where == "" {
			return &defect{err}
		}
		return &fault.StatementError{Code: own.Code, Field: "where", Message: own.Message, Reason: own.Reason}
	case errors.As(err, &placed):
		if s.where == "" {
			return &defect{err}
		}
		return &refusal.Placed{Err: placed.Err, Field: "where", Name: placed.Name, Near: placed.Near}
	case errors.As(err, &refused):
		if s.where == "" {
			return &defect{err}
		}
		return &refusal.Placed{Err: err, Field: "where", Near: refused.Near}
	case errors.As(err, &failed) && s.where != "":
		return &refusal.Placed{Err: err, Field: "where"}
	}
	return err
}

// defect is an error of a generated statement. It hides the error from the table of errors,
// so that the reply is that of an unexpected one.
type defect struct{ err error }

// Error implements error.
func (d *defect) Error() string { return "statement of an analysis: " + d.err.Error() }

// blamed is the result of a statement whose errors are about the condition.
type blamed struct {
	engine.Result
	source *source
}

// Next implements engine.Result.
func (b blamed) Next(ctx context.Context) (batch arrow.RecordBatch, err error) {
	if batch, err = b.Result.Next(ctx); err != nil {
		err = b.source.blame(err)
	}
	return batch, err
}

// describe returns a version of a table as its caller sees it.
func (s *source) describe(ctx context.Context, t access.Table) (analysis.Table, error) {
	located := t.Located()
	out := analysis.Table{
		Relation: engine.QuoteIdent(catalog.CatalogName) + "." + engine.QuoteIdent(located.StorageConfig.Schema()) + "." +
			engine.QuoteIdent(located.Name),
		Name: located.Name, Version: t.Snapshot().Version(), Where: s.where,
	}
	domains, err := s.service.Store.TableDomains(ctx, s.caller.Org, located.DeltaID)
	if err != nil {
		return out, err
	}
	for i, c := range t.VisibleColumns() {
		shown := t.Columns()[i]
		column := analysis.Column{Name: c.Name, Type: c.Type, Nullable: c.Nullable, Comment: shown.Comment, Masked: t.Masks(c.Name),
			Key: shown.IsPrimaryKey, Unique: shown.IsUnique}
		if f, ok := t.Column(c.Name); ok {
			for _, d := range domains.Columns {
				if d.Column == t.PhysicalName(f) {
					column.Domain = string(d.Domain.Kind)
				}
			}
		}
		if column.Key && !column.Masked {
			out.PrimaryKey = append(out.PrimaryKey, c.Name)
		}
		out.Columns = append(out.Columns, column)
	}
	keys := constraint.KeysOf(t.Snapshot().Schema(), t.Snapshot().Properties())
	if len(out.PrimaryKey) < len(keys.Primary) {
		out.PrimaryKey = nil // a part of it is hidden or masked
	}
	return out, nil
}

// checks returns the constraints of the newest version that the caller may see.
func (s *source) checks(ctx context.Context) ([]analysis.Check, error) {
	list, err := s.service.Rules.Constraints(ctx, s.path)
	if err != nil {
		return nil, err
	}
	out := make([]analysis.Check, len(list))
	for i, c := range list {
		out[i] = analysis.Check{Name: c.Name, Expr: c.Expression}
	}
	return out, nil
}

// older implements [analysis.Input.Older].
func (s *source) older(ctx context.Context, version int64) (analysis.Table, error) {
	if known, ok := s.described[version]; ok {
		return known, nil
	}
	at := delta.AtVersion(version)
	t, err := s.service.Tables.Open(ctx, s.caller, access.Ref{Path: s.path, At: &at, Rows: true})
	if err != nil {
		return analysis.Table{}, err
	}
	s.tables = append(s.tables, t)
	described, err := s.describe(ctx, t)
	if err == nil {
		s.described[version] = described
	}
	return described, err
}

// openVersions opens the older versions that a request is about, so that their rules are
// part of the state from the beginning.
func (s *source) openVersions(ctx context.Context, r Request) error {
	for _, version := range []*int64{r.VersionFrom, r.VersionTo} {
		if version == nil {
			continue
		}
		if _, err := s.older(ctx, *version); err != nil {
			return err
		}
	}
	return nil
}

// checkWhere refuses what is not a condition over the table.
func (s *source) checkWhere(ctx context.Context, t analysis.Table) error {
	if strings.TrimSpace(s.where) == "" {
		return nil
	}
	unrestricted := t
	unrestricted.Where = ""
	return s.service.Queries.CheckCondition(ctx, s.caller, query.Condition{
		Where: s.where, From: "FROM " + unrestricted.From(), Schema: s.path.Schema, Repeats: true,
	})
}
