package query

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/sessions"
)

// MaskedColumn refuses a value for a masked column. Under a mask that keeps equal values
// equal, a caller who chooses values learns which other values are the same.
const MaskedColumn = "is masked for the caller"

// RowsQuery asks which rows of a table fulfil a condition, and which values expressions
// have for them.
type RowsQuery struct {
	// Table is the table at its newest version.
	Table access.Table
	// Where is a condition, Set holds expressions by column. Both are SQL of the caller.
	Where string
	Set   map[string]string
	// Timeout is capped by the limit of statements.
	Timeout time.Duration
	// OnBasis, if not nil, is called with everything that the statement reads before it runs.
	OnBasis func(access.Basis)
}

// FoundRows is what a [RowsQuery] found.
type FoundRows struct {
	// List is the list of files that positions refer to; nil if the table cannot be read
	// as a list: then nothing was run.
	List *engine.FileList
	// Set holds the columns of the values, in the order of the result's columns.
	Set []engine.Column
}

// rowsQuery is a [RowsQuery] as a statement. The names of the table, the positions and
// the values are random, so that the caller's SQL cannot refer to them. The alias is the
// table's own name, unless a column has that name.
type rowsQuery struct {
	RowsQuery
	actor        caller.Identity
	view         *memo.EpochView
	table, alias string
	positions    engine.PositionColumns
	set          []engine.Column
	sql          string
	pieces       pieces
	basis        access.Basis
}

// FindRows runs the query in the caller's own session, under the caller's policies. take
// reads the result, whose columns are the position of a file in the list, the row in the
// file, and the values; it is called again if the statement is started again. The caller's
// session is free when FindRows returns. Expressions that read a table in a subquery require the
// scope of statements. Errors are those of [Service.Run].
func (o *Service) FindRows(ctx context.Context, q RowsQuery, take func(engine.Result) error) (FoundRows, error) {
	a := q.Table.Caller()
	view, err := memo.NewEpochView(ctx, o.Store)
	if err != nil {
		return FoundRows{}, err
	}
	p := &rowsQuery{RowsQuery: q, actor: a, view: view, basis: access.BasisOf(q.Table)}
	if err := o.compose(ctx, p); err != nil {
		return FoundRows{}, err
	}
	roots, err := o.rootsFor(ctx, a, view, p.basis)
	if err != nil {
		return FoundRows{}, err
	}
	key, opts := roots.SessionKey(a), o.guardOptions(a, q.Table.Located().StorageConfig.Schema())
	err = o.condition(ctx, q.Where, rowsAsked{
		key: key, options: opts, from: p.from(), names: p.names,
		relations: func(ctx context.Context, statement *sqlguard.Query) ([]sqlguard.Relation, error) {
			return o.positionRelations(ctx, statement, p)
		},
	})
	if err != nil {
		return FoundRows{}, err
	}
	prepared, err := o.planPositions(ctx, p, opts, roots)
	if err != nil {
		return FoundRows{}, p.pieces.blame(err)
	}
	if roots, err = o.rootsFor(ctx, a, view, p.basis); err != nil { // of the tables in the condition
		return FoundRows{}, err
	}
	found := FoundRows{List: listOf(prepared.plan, p.positions), Set: p.set}
	if found.List == nil {
		return found, nil
	}
	timeout, err := o.timeout(min(q.Timeout, o.Limits.MaxTimeout))
	if err != nil {
		return FoundRows{}, err
	}
	prepared.diagnose = p.basis.Whole()
	err = o.runOnce(ctx, roots.SessionKey(a), prepared, timeout, take)
	found.List = listOf(prepared.plan, p.positions) // of the plan that ran
	return found, o.Tables.RefuseRun(ctx, p.basis, err)
}

// runOnce runs a prepared statement and passes its result to take. If the statement is started
// again, take is called with the second result as well.
func (o *Service) runOnce(ctx context.Context, key sessions.Key, p *prepared, timeout time.Duration, take func(engine.Result) error) error {
	type start func(context.Context, sessions.Key, *prepared, time.Duration) (*sessions.Held, engine.Result, error)
	run := func(start start) error {
		held, result, err := start(ctx, key, p, timeout)
		if err != nil {
			return err
		}
		defer held.Release()
		return errors.Join(take(result), result.Close())
	}
	err := run(o.launch)
	if p.again(err) {
		err = run(o.launchApart)
	}
	return p.translate(ctx, err)
}

func (o *Service) planPositions(ctx context.Context, p *rowsQuery, opts sqlguard.Options, roots access.VisibleRoots) (*prepared, error) {
	parser := o.Plans.parser
	statement, err := sqlguard.Parse(ctx, parser, p.sql, opts)
	if err != nil {
		return nil, err
	}
	relations, err := o.positionRelations(ctx, statement, p)
	if err != nil {
		return nil, err
	}
	for i := range relations {
		relations[i].NoPushdown = relations[i].NoPushdown || roots.NoPushdown
	}
	plan, err := statement.Bind(ctx, parser, relations)
	if err != nil {
		return nil, err
	}
	copies := func() (*sqlguard.Plan, error) { return o.Plans.copies(ctx, statement, relations, engine.Args{}) }
	return &prepared{statement: statement, plan: plan, copies: copies, parser: parser, names: p.names(nil, nil), pieces: p.pieces}, nil
}

// names are those of the table alone: the other names of the statement are generated.
func (p *rowsQuery) names(*sqlguard.Query, []sqlguard.Relation) visibleNames {
	var names visibleNames
	for _, c := range p.Table.VisibleColumns() {
		names = append(names, visibleName{p.Table.Located().Name, c.Name})
	}
	return names
}

// compose writes the statement around the expressions, and around the condition, which is
// judged separately.
func (o *Service) compose(ctx context.Context, p *rowsQuery) error {
	own := "lw_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	p.table, p.alias = own, p.Table.Located().Name
	p.positions = engine.PositionColumns{File: own + "_file", Row: own + "_row"}
	if _, taken := p.Table.Column(p.alias); taken {
		p.alias = own + "_t" // a bare name must be the column
	}
	var c Composer
	c.Own("SELECT " + engine.QuoteIdent(p.positions.File) + ", " + engine.QuoteIdent(p.positions.Row) + "\n")
	columns := p.Table.AllColumns()
	for _, name := range slices.Sorted(maps.Keys(p.Set)) {
		f, ok := p.Table.Column(name)
		switch {
		case !ok:
			return fault.Invalid("set."+name, "must be a column of the table")
		case p.Table.Masks(f.Name):
			return fault.Invalid("set."+name, MaskedColumn)
		case slices.ContainsFunc(p.set, func(c engine.Column) bool { return c.Name == f.Name }):
			return fault.Invalid("set."+name, "must not name a column twice")
		}
		if _, err := o.Plans.expression(ctx, o.Limits.Guard, "set."+name, p.Set[name]); err != nil {
			return err
		}
		at := slices.IndexFunc(columns, func(c engine.Column) bool { return c.Name == f.Name })
		value := engine.QuoteIdent(fmt.Sprintf("%s_v%d", own, len(p.set)))
		c.Text("set."+name, ", CAST((", p.Set[name], fmt.Sprintf(") AS %s) AS %s", columns[at].Type, value))
		c.Own("\n")
		p.set = append(p.set, columns[at])
	}
	c.Own(p.from() + "\n")
	c.Text("where", "WHERE (", p.Where, ")")
	p.sql, p.pieces = c.sql.String(), c.pieces
	return nil
}

func (p *rowsQuery) from() string {
	return "FROM " + engine.QuoteIdent(p.table) + " AS " + engine.QuoteIdent(p.alias)
}

// positionRelations resolves what the statement reads. Only the table itself has
// positions, and nothing may read them without their names.
func (o *Service) positionRelations(ctx context.Context, statement *sqlguard.Query, p *rowsQuery) ([]sqlguard.Relation, error) {
	refs := statement.Tables()
	out := make([]sqlguard.Relation, len(refs))
	var others []sqlguard.TableRef
	var places []int
	for i, ref := range refs {
		if ref.Name != p.table {
			others, places = append(others, ref), append(places, i)
			continue
		}
		if statement.ReadsWhole(i) {
			return nil, fault.Invalid("where", "must name columns: * and whole rows are not served here")
		}
		var err error
		if out[i], err = p.Table.PositionRelation(o.Limits.CopyBytes, p.positions); err != nil {
			return nil, err
		}
	}
	if len(others) > 0 { // a subquery reads as a statement does
		if err := p.actor.Require(auth.ScopeTablesQuery); err != nil {
			return nil, err
		}
	}
	run := &Rows{actor: p.actor, started: time.Now()}
	relations, err := o.read(ctx, p.actor, p.view, others, p.Table.Located().StorageConfig.Schema(), nil, run)
	for i, r := range relations {
		out[places[i]] = r
	}
	p.basis = p.basis.With(run.basis)
	if p.OnBasis != nil {
		p.OnBasis(p.basis)
	}
	return out, err
}

// listOf returns the list of files that the positions of a plan refer to, or nil.
func listOf(plan *sqlguard.Plan, positions engine.PositionColumns) *engine.FileList {
	sources := slices.Clone(plan.Sources)
	for _, b := range plan.Barriers {
		sources = append(sources, b.Source)
	}
	for _, s := range sources {
		if s.Files != nil && s.Files.Positions == positions {
			return s.Files
		}
	}
	return nil
}
