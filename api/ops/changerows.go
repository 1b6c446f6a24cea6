package ops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// Delete removes the rows that the caller sees and that fulfil a condition, which
// is SQL of the caller. Errors: those of a statement, and those of [Writes.Insert].
func (o Writes) Delete(ctx context.Context, path TablePath, where string, options WriteOptions) (Written, error) {
	return o.change(ctx, path, "rows.delete", auth.ScopeRowsDelete, where, nil, options, dml.Delete)
}

// Update gives columns new values, in the rows that the caller sees and that fulfil
// a condition. set holds SQL expressions over the old values by column.
func (o Writes) Update(ctx context.Context, path TablePath, where string, set map[string]string, options WriteOptions) (Written, error) {
	if len(set) == 0 {
		return Written{}, invalid("set", "must name a column")
	}
	return o.change(ctx, path, "rows.update", auth.ScopeRowsUpdate, where, set, options, dml.Update)
}

func (o Writes) change(ctx context.Context, path TablePath, action string, scope auth.Scope, where string, set map[string]string, options WriteOptions,
	apply func(context.Context, dml.Table, dml.Options, dml.Changes) (dml.Result, error),
) (Written, error) {
	words := []string{where}
	for _, name := range sortedKeys(set) {
		words = append(words, name, set[name])
	}
	return o.run(ctx, path, action, []auth.Scope{scope}, words, options, func(context.Context, *writing) error { return nil },
		func(ctx context.Context, w *writing) (dml.Result, error) {
			changes, err := w.point(ctx, where, set)
			if err != nil {
				return dml.Result{}, err
			}
			held, opts, err := w.session(ctx)
			if err != nil {
				return dml.Result{}, err
			}
			defer letGo(held)
			return apply(ctx, w.target, opts, changes)
		})
}

// pointer is the statement of a caller that points at rows. The names in it are
// such that nothing the caller wrote can mean them.
type pointer struct {
	table, alias string
	positions    engine.PositionColumns
	set          []engine.Column
	sql          string
	pieces       pieces
}

// point finds out, in the caller's own session and under the caller's rules, which
// rows a condition means and what the expressions give for them.
func (w *writing) point(ctx context.Context, where string, set map[string]string) (dml.Changes, error) {
	p, err := w.pointer(ctx, where, set)
	if err != nil {
		return dml.Changes{}, err
	}
	o := w.Queries
	reach, err := o.reach(ctx, w.actor, w.moment)
	if err != nil {
		return dml.Changes{}, err
	}
	key, opts := sessionKey(w.actor, reach), o.guardOptions(w.actor, w.located.StorageConfig.Schema())
	err = o.condition(ctx, where, rowsAsked{
		key: key, options: opts, from: p.from(), names: w.names,
		relations: func(ctx context.Context, statement *sqlguard.Query) ([]sqlguard.Relation, error) {
			return w.pointRelations(ctx, statement, p)
		},
	})
	if err != nil {
		return dml.Changes{}, err
	}
	prepared, err := w.pointPlan(ctx, p, opts, reach)
	if err != nil {
		return dml.Changes{}, p.pieces.blame(err)
	}
	list := listOf(prepared.plan, p.positions)
	if list == nil {
		return dml.Changes{}, dml.ErrNotListed
	}
	timeout, err := o.timeout(min(w.Timeout, o.Limits.MaxTimeout))
	if err != nil {
		return dml.Changes{}, err
	}
	file, count, err := w.keepPositions(ctx, key, prepared, timeout, p)
	return dml.Changes{List: list, File: file, Count: count, Set: p.set}, err
}

func (w *writing) pointPlan(ctx context.Context, p pointer, opts sqlguard.Options, reach reach) (*prepared, error) {
	parser := w.Queries.Plans.parser
	statement, err := sqlguard.Parse(ctx, parser, p.sql, opts)
	if err != nil {
		return nil, err
	}
	relations, err := w.pointRelations(ctx, statement, p)
	if err != nil {
		return nil, err
	}
	for i := range relations {
		relations[i].KeepWhole = relations[i].KeepWhole || reach.keepWhole
	}
	plan, err := statement.Bind(ctx, parser, relations)
	if err != nil {
		return nil, err
	}
	return &prepared{statement: statement, plan: plan, parser: parser, names: w.names(nil, nil), pieces: p.pieces}, nil
}

// names are those of the table alone: what else stands in a pointer is ours.
func (w *writing) names(*sqlguard.Query, []sqlguard.Relation) visibleNames {
	var names visibleNames
	for _, c := range w.view.columns {
		names = append(names, visibleName{w.located.Name, c.Name})
	}
	return names
}

// pointer writes the statement around the condition, which is judged apart, and
// the expressions.
func (w *writing) pointer(ctx context.Context, where string, set map[string]string) (pointer, error) {
	own := "lw_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	p := pointer{table: own, alias: w.located.Name, positions: engine.PositionColumns{File: own + "_file", Row: own + "_row"}}
	if _, taken := w.visibleColumn(p.alias); taken {
		p.alias = own + "_t" // a bare name must be the column
	}
	var c composer
	c.ours("SELECT " + engine.QuoteIdent(p.positions.File) + ", " + engine.QuoteIdent(p.positions.Row) + "\n")
	for _, name := range sortedKeys(set) {
		column, ok := w.visibleColumn(name)
		if !ok {
			return p, invalid("set."+name, "must be a column of the table")
		}
		if _, masked := w.view.Masks[column]; masked {
			return p, invalid("set."+name, masksColumn)
		}
		if slices.ContainsFunc(p.set, func(c engine.Column) bool { return c.Name == column }) {
			return p, invalid("set."+name, "must not name a column twice")
		}
		if _, err := w.Queries.Plans.expression(ctx, w.Queries.Limits.Guard, "set."+name, set[name]); err != nil {
			return p, err
		}
		at := slices.IndexFunc(w.target.Columns, func(c engine.Column) bool { return c.Name == column })
		value := engine.QuoteIdent(fmt.Sprintf("%s_v%d", own, len(p.set)))
		c.theirs("set."+name, ", CAST((", set[name], fmt.Sprintf(") AS %s) AS %s", w.target.Columns[at].Type, value))
		c.ours("\n")
		p.set = append(p.set, w.target.Columns[at])
	}
	c.ours(p.from() + "\n")
	c.theirs("where", "WHERE (", where, ")")
	p.sql, p.pieces = c.sql.String(), c.pieces
	return p, nil
}

func (p pointer) from() string {
	return "FROM " + engine.QuoteIdent(p.table) + " AS " + engine.QuoteIdent(p.alias)
}

// pointRelations resolves what the statement reads. Only the table itself has
// positions, and nothing may read them without their names.
func (w *writing) pointRelations(ctx context.Context, statement *sqlguard.Query, p pointer) ([]sqlguard.Relation, error) {
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
			return nil, invalid("where", "must name columns: * and whole rows are not served here")
		}
		exposure := w.used.exposure(w.view)
		relation, err := w.Queries.Tables.withSecrets(w.used.relation(w.view, exposure, w.Queries.Limits), w.view, w.located)
		if err != nil {
			return nil, err
		}
		// The order of the rows that are found does not matter, so a caller who sees all
		// of them gets a list wherever a filtered caller gets one.
		narrow := w.used.narrow(relation.Source, w.view, true, shieldsFiles(exposure, w.Queries.Limits))
		relation.Columns = append(slices.Clone(relation.Columns), engine.Column{Name: p.positions.File, Type: "UINTEGER"}, engine.Column{Name: p.positions.Row, Type: "BIGINT"})
		relation.Narrow = func(visible, asked engine.Condition) engine.Source {
			source := narrow(visible, asked)
			if source.Files != nil {
				source.Files = source.Files.WithPositions(p.positions)
			}
			return source
		}
		out[i] = relation
	}
	run := &Rows{ID: w.id, actor: w.actor, started: time.Now()}
	relations, err := w.Queries.read(ctx, w.actor, w.moment, others, w.located.StorageConfig.Schema(), nil, run)
	for i, r := range relations {
		out[places[i]] = r
	}
	w.basis.tables = append(w.basis.tables, run.basis.tables...)
	if run.ofCatalog {
		w.basis.listed, w.basis.policies = run.basis.listed, run.basis.policies
	}
	w.watchBasis()
	return out, err
}

// listOf finds the list of files that the positions of a plan are about.
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
