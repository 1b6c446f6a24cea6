package analysis

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/feature"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

// Service runs analyses.
type Service struct {
	Store      catalog.Store
	Tables     access.Tables
	Rules      table.Rules
	Queries    *query.Service
	Stored     query.Stored
	Operations operation.Service
	Audit      *caller.Auditor
	Metrics    *Metrics
	// Words lets models word the answers.
	Words Words
	// Limits bounds the analyses of an organisation, and its use of models.
	Limits Limits
	// Cache remembers answers.
	Cache *Cache
	// Turns bounds the analyses that run at the same time.
	Turns *Turns
	// Timeout bounds an analysis.
	Timeout time.Duration
}

// Reply is the answer to a [Request].
type Reply struct {
	analysis.Answer
	Action analysis.Action
	// Table is the version that was analysed.
	Table analysis.Table
	// Location is where the table is.
	Location Location
	// Model is the id of the model that worded the text; empty means that no model did.
	Model string
	// Complete reports that the caller sees the whole table, so that numbers are about all
	// its rows.
	Complete bool
	// Offers has, for each of Proposals, whether the caller may apply it.
	Offers []Offer
}

// Location addresses the table of a reply in requests.
type Location struct {
	Org   catalog.OrgID
	Path  access.Path
	Table catalog.DeltaID
}

// Analyze runs an analysis of a table. If it takes longer than patience, it continues as an
// operation, which Analyze returns; encode makes the document that [Service.Document]
// returns for the operation later. Errors: [catalog.FieldErrors], [feature.DisabledError],
// [TooManyError], [query.ErrResultStale] if the rules change meanwhile, and those of opening
// a table and of [query.Service.Run].
func (o *Service) Analyze(
	ctx context.Context, path access.Path, r Request, patience time.Duration, encode func(Reply) any,
) (Reply, *catalog.Operation, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return Reply{}, nil, err
	}
	if err := a.Require(auth.ScopeTablesQuery); err != nil {
		return Reply{}, nil, err
	}
	if err := checkModel(r.Model); err != nil {
		return Reply{}, nil, err
	}
	if err := feature.Require(ctx, o.Store, a.Org, catalog.FeatureAnalysis); err != nil {
		return Reply{}, nil, err
	}
	if err := r.validate(); err != nil {
		return Reply{}, nil, err
	}
	if r.Limit == 0 {
		r.Limit = defaultLimit
	}
	// A request for a table that cannot be opened does not count.
	opened, err := o.open(ctx, a, path)
	if err != nil {
		return Reply{}, nil, err
	}
	if err := o.Limits.Begin(ctx, a.Org); err != nil {
		return Reply{}, nil, err
	}
	type made struct {
		Reply
		state query.State
	}
	out, goesOn, err := operation.RunAndKeep(ctx, o.Operations, catalog.OperationAnalyze, patience,
		func(ctx context.Context, t *operation.Task) (out made, err error) {
			out.Reply, out.state, err = o.analyze(ctx, a, opened, path, r, t)
			return out, err
		},
		func(ctx context.Context, t *operation.Task, out made) (operation.Done, error) {
			document, err := json.Marshal(encode(out.Reply))
			if err != nil {
				return operation.Done{}, err
			}
			return o.Stored.KeepDocument(ctx, t, out.state, document, map[string]any{"action": r.Action, "bytes": len(document)})
		})
	return out.Reply, goesOn, err
}

// Document returns the document of an analysis that continued as an operation, to its owner.
// Errors are those of [query.Stored.Document].
func (o *Service) Document(ctx context.Context, id catalog.OperationID) ([]byte, error) {
	return o.Stored.Document(ctx, id, catalog.OperationAnalyze)
}

func (o *Service) open(ctx context.Context, a caller.Identity, path access.Path) (access.Table, error) {
	return o.Tables.Open(ctx, a, access.Ref{Path: path, Rows: true})
}

// analyze runs the analysis of an opened table, and checks at its end that the rules are
// still those of its beginning.
func (o *Service) analyze(
	ctx context.Context, a caller.Identity, opened access.Table, path access.Path, r Request, task *operation.Task,
) (reply Reply, state query.State, err error) {
	began := time.Now()
	defer func() { o.Metrics.ran(r.Action, reply.Model, time.Since(began), err) }()
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	src := &source{service: o, caller: a, path: path, where: r.Where, tables: []access.Table{opened}, described: map[int64]analysis.Table{},
		ends: began.Add(o.Timeout)}
	reply = Reply{Action: r.Action, Complete: opened.Whole(), Location: Location{Org: a.Org, Path: path, Table: opened.Located().DeltaID}}
	if reply.Table, err = src.describe(ctx, opened); err != nil {
		return reply, state, err
	}
	in, err := src.input(ctx, reply.Table, r, task)
	if err != nil {
		return reply, state, err
	}
	if err := src.openVersions(ctx, r); err != nil {
		return reply, state, err
	}
	before, err := o.Stored.State(ctx, a, src.tables...)
	if err != nil {
		return reply, state, err
	}
	key := answerKey(before, in.Table, r)
	answer, known := o.Cache.get(key)
	if !known {
		if answer, err = o.run(ctx, a.Org, r.Action, in); err != nil {
			return reply, state, timedOut(ctx, err)
		}
	}
	if state, err = o.Stored.State(ctx, a, src.tables...); err != nil {
		return reply, state, err
	}
	if state.Digest != before.Digest {
		return reply, state, query.ErrResultStale
	}
	if !known {
		o.Cache.put(key, answer)
	}
	reply.Answer = answer
	if err := o.word(ctx, a, key, r, &reply); err != nil {
		return reply, state, err
	}
	if reply.Offers, err = o.offers(ctx, a, opened, answer.Proposals); err != nil {
		return reply, state, err
	}
	// The rules may have changed while a model worded the text.
	return reply, state, o.Stored.Check(ctx, a, state)
}

// run runs an action in its turn.
func (o *Service) run(ctx context.Context, org catalog.OrgID, action analysis.Action, in analysis.Input) (analysis.Answer, error) {
	release, err := o.Turns.take(ctx, org)
	if err != nil {
		return analysis.Answer{}, err
	}
	defer release()
	answer, err := run(ctx, action, in)
	if err != nil {
		return answer, err
	}
	answer.Warnings = append([]string{}, answer.Warnings...)
	return answer, unrestrict(ctx, in, answer.Proposals)
}

// input returns what the analysis reads.
func (s *source) input(ctx context.Context, t analysis.Table, r Request, task *operation.Task) (analysis.Input, error) {
	if err := s.checkWhere(ctx, t); err != nil {
		return analysis.Input{}, err
	}
	columns, err := r.columns(t)
	if err != nil {
		return analysis.Input{}, err
	}
	if err := r.checkKeys(t); err != nil {
		return analysis.Input{}, err
	}
	if t.Checks, err = s.checks(ctx); err != nil {
		return analysis.Input{}, err
	}
	in := analysis.Input{
		Table: t, Columns: columns, Query: s.query, Older: s.older, Limit: r.Limit,
		Progress: func(done, total int) {
			task.Progress(catalog.Progress{Done: int64(done), Total: int64(total), Unit: "steps"})
		},
		SourceColumns: r.SourceColumns, Keys: r.Keys,
	}
	if r.VersionFrom != nil && r.VersionTo != nil {
		in.VersionFrom, in.VersionTo = *r.VersionFrom, *r.VersionTo
	}
	return in, nil
}

// timedOut distinguishes the deadline of the analysis from a client that went away.
func timedOut(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return engine.ErrTimeout
	}
	return err
}
