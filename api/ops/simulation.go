package ops

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/pruning"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// Simulation shows a table as somebody else would see it, to those who write
// policies.
type Simulation struct {
	Store   catalog.Store
	Queries *Queries
}

// SimulationInput names a member, or a role with attributes.
type SimulationInput struct {
	TableFQN   string
	User       string
	Role       string
	Attributes map[string]string
}

// Simulated is what the subject would get.
type Simulated struct {
	TableFQN    string
	Restricted  bool
	Predicate   string
	VisibleRows int64
	// HiddenColumns and Masks are what the subject would see of the columns.
	HiddenColumns []string
	Masks         map[string]string
	// Policies are those that were applied.
	Policies []catalog.Policy
}

// Run compiles the subject's policies and counts the rows that pass. The
// table is one that the caller sees; the count is made by the caller's session.
func (o Simulation) Run(ctx context.Context, org catalog.OrgID, input SimulationInput) (Simulated, error) {
	a, err := in(ctx, org)
	if err != nil {
		return Simulated{}, err
	}
	who, err := o.subject(ctx, org, input)
	if err != nil {
		return Simulated{}, err
	}
	name, ok := parseFQN(input.TableFQN)
	if !ok {
		return Simulated{}, invalid("table_fqn", "must be catalog.schema.table")
	}
	t, err := resolveOne(ctx, o.Store, a.Viewer, name)
	if errors.Is(err, catalog.ErrNotFound) {
		return Simulated{}, invalid("table_fqn", "is not a table")
	}
	if err != nil {
		return Simulated{}, err
	}
	t, snap, err := o.Queries.Tables.openRows(ctx, t)
	if err != nil {
		return Simulated{}, err
	}
	m, err := newMoment(ctx, o.Store)
	if err != nil {
		return Simulated{}, err
	}
	held, err := rulesFor(ctx, o.Store, a, m, []catalog.LocatedTable{t}, nil)
	if err != nil {
		return Simulated{}, err
	}
	policies := held.policies
	u := usedTable{located: t, snap: snap, head: snap}
	v, err := u.view(policies, who)
	if err != nil {
		return Simulated{}, err
	}
	out := Simulated{
		TableFQN: t.FQN(), Restricted: v.Restricted, Predicate: v.Predicate, HiddenColumns: v.HiddenColumns, Masks: v.Masks, Policies: u.applied(policies),
	}
	// Rows are counted whatever the subject sees of their columns.
	v.HiddenColumns, v.Masks = nil, nil
	rows := &Rows{ID: "simulation", audit: o.Queries.Audit, actor: a, started: time.Now()}
	rows.basis = basis{subject: held.subject, tables: []usedPolicies{{u, u.applied(policies)}}}
	ctx = o.Queries.watch(ctx, a, rows)
	defer rows.watched.done()
	rows.watched.judgeBy(rows.basis.check(o.Queries.Revocations, a))
	if out.VisibleRows, err = o.count(ctx, a, u.relation(newView(v.Filter, snap), pruning.Exposure{}, QueryLimits{}), rows); err != nil {
		return Simulated{}, endedBy(ctx, err)
	}
	return out, nil
}

func (o Simulation) subject(ctx context.Context, org catalog.OrgID, input SimulationInput) (subject, error) {
	switch {
	case (input.User == "") == (input.Role == ""):
		return subject{}, invalid("user_id", "exactly one of userId and role is required")
	case input.User != "" && input.Attributes != nil:
		return subject{}, invalid("attributes", "cannot be combined with userId")
	case input.User == "":
		return subject{role: catalog.Role(input.Role), attributes: input.Attributes}, catalog.ValidateAttributes(input.Attributes)
	}
	id, err := catalog.ParseID[catalog.UserID](input.User)
	if err != nil {
		return subject{}, invalid("user_id", "is not a member")
	}
	member, err := o.Store.Membership(ctx, org, id)
	if errors.Is(err, catalog.ErrNotFound) {
		return subject{}, invalid("user_id", "is not a member")
	}
	return subjectOf(member), err
}

// count runs a statement of ours over the relation of the subject.
func (o Simulation) count(ctx context.Context, a Actor, r sqlguard.Relation, rows *Rows) (int64, error) {
	const sql = "SELECT count(*) FROM simulated"
	rows.sql = sql
	statement, err := sqlguard.Parse(ctx, o.Queries.Plans.parser, sql, sqlguard.Options{})
	if err != nil {
		return 0, err
	}
	plan, err := statement.Bind(ctx, o.Queries.Plans.parser, []sqlguard.Relation{r})
	if err != nil {
		return 0, err
	}
	m, err := newMoment(ctx, o.Queries.Store)
	if err != nil {
		return 0, err
	}
	reach, err := o.Queries.reach(ctx, a, m)
	if err != nil {
		return 0, err
	}
	if err := o.Queries.execute(ctx, sessionKey(a, reach), &prepared{statement: statement, plan: plan, parser: o.Queries.Plans.parser}, o.Queries.Limits.DefaultTimeout, rows); err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	batch, err := rows.Next(ctx)
	if errors.Is(err, io.EOF) {
		return 0, io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, err
	}
	defer batch.Release()
	return batch.Column(0).(*array.Int64).Value(0), nil
}
