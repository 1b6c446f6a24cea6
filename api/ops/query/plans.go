package query

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// Plans parses and binds statements, and caches the last ones: a program sends the same texts
// again and again, often with other arguments. A cached plan depends on nothing but its key:
// the text, the meaning of names, every relation with its version, columns and predicate, and
// the kinds of the arguments. A changed policy, attribute or table makes another key. The
// values of the arguments are not part of it: [sqlguard.Relation.Narrow] chooses the files
// that they need for every run.
type Plans struct {
	parser     engine.Parser
	statements *memo.Cache[*sqlguard.Query]
	prepared   *memo.Cache[*cachedPlan]
	// uses counts statements by the filtered copy that they could read.
	uses *memo.Cache[*atomic.Int64]
}

// cachedPlan is a prepared statement.
type cachedPlan struct {
	*sqlguard.Prepared
	// copied is the same statement over a copy of all visible rows, once made.
	copied atomic.Pointer[copiedForm]
}

// copiedForm is a statement over copies of all visible rows. Its plan does not depend on
// arguments, so all runs share it; it is nil if its lists of files are too long to cache.
type copiedForm struct {
	*sqlguard.Prepared
	plan *sqlguard.Plan
}

const (
	maxPlans = 512
	// maxPlanText bounds the size of one entry.
	maxPlanText = 16 << 10
	// maxPlanFiles bounds the number of files that one entry names.
	maxPlanFiles = 4096
)

// NewPlans returns plans over parser.
func NewPlans(parser engine.Parser) *Plans {
	return &Plans{parser: parser, statements: memo.NewCache[*sqlguard.Query](maxPlans), prepared: memo.NewCache[*cachedPlan](maxPlans),
		uses: memo.NewCache[*atomic.Int64](maxPlans)}
}

// Parser returns the parser of the plans.
func (p *Plans) Parser() engine.Parser { return p.parser }

func (p *Plans) parse(ctx context.Context, sql string, opts sqlguard.Options) (*sqlguard.Query, error) {
	parse := func() (*sqlguard.Query, error) { return sqlguard.Parse(ctx, p.parser, sql, opts) }
	if len(sql) > maxPlanText {
		return parse()
	}
	return p.statements.Get(statementKey(sql, opts), parse)
}

// bind plans a statement that parse returned for the same text and options. If the plan
// reads a cached copy, inPlace plans the statement without it. copyBytes is
// [Limits.CopyBytes].
func (p *Plans) bind(
	ctx context.Context, statement *sqlguard.Query, q Statement, opts sqlguard.Options, relations []sqlguard.Relation, copyBytes int64,
) (plan *sqlguard.Plan, inPlace func() *sqlguard.Plan, err error) {
	cached, err := p.prepare(ctx, statement, q, opts, relations)
	if err != nil {
		return nil, nil, err
	}
	here := func() *sqlguard.Plan { return cached.Plan(relations, q.Args) }
	if !copyPays(relations, cached.Prepared, q.Args, copyBytes) {
		return here(), nil, nil
	}
	runs := p.used(relations, cached.Prepared)
	if runs < repeatedRuns {
		return here(), nil, nil
	}
	whole := slices.Clone(relations)
	for i := range whole {
		whole[i].NoPushdown = true
	}
	copied := cached.copied.Load()
	if copied == nil {
		made, err := statement.Prepare(ctx, p.parser, whole, q.Args)
		if err != nil {
			return nil, nil, err
		}
		copied = newCopiedForm(made, whole, q.Args)
		cached.copied.Store(copied)
	}
	plan = copied.run(whole, q.Args)
	if column := cached.LookupColumn(); column != "" && runs >= indexedRuns {
		plan = indexedBy(plan, column)
	}
	return plan, here, nil
}

// copies plans a statement over copies of all visible rows.
func (p *Plans) copies(
	ctx context.Context, statement *sqlguard.Query, relations []sqlguard.Relation, args engine.Args,
) (*sqlguard.Plan, error) {
	whole := slices.Clone(relations)
	for i := range whole {
		whole[i].NoPushdown = true
	}
	made, err := statement.Prepare(ctx, p.parser, whole, args)
	if err != nil {
		return nil, err
	}
	return made.Plan(whole, args), nil
}

// used counts one more statement that could read a filtered copy, and returns the
// number so far. Statements that read the same columns of one table share a count.
func (p *Plans) used(relations []sqlguard.Relation, made *sqlguard.Prepared) int64 {
	k := memo.NewDigest()
	k.Text(relationsKey(relations))
	k.Text(made.ReadColumns()...)
	count, _ := p.uses.Get(k.String(), func() (*atomic.Int64, error) { return new(atomic.Int64), nil })
	return count.Add(1)
}

// indexedBy is the plan over copies that are indexed by a column.
func indexedBy(plan *sqlguard.Plan, column string) *sqlguard.Plan {
	by := *plan
	by.Barriers = slices.Clone(plan.Barriers)
	for i := range by.Barriers {
		by.Barriers[i].Index = column
	}
	return &by
}

// newCopiedForm returns the form with its plan, if its lists of files are short enough.
func newCopiedForm(made *sqlguard.Prepared, whole []sqlguard.Relation, args engine.Args) *copiedForm {
	c := &copiedForm{Prepared: made}
	if plan := c.run(whole, args); listedFiles(plan) <= maxPlanFiles {
		c.plan = plan
	}
	return c
}

// run is the plan for one run.
func (c *copiedForm) run(whole []sqlguard.Relation, args engine.Args) *sqlguard.Plan {
	if c.plan != nil {
		return c.plan
	}
	plan := c.Plan(whole, args)
	plan.Rebatch = true
	return plan
}

// listedFiles returns the number of files in the lists of a plan.
func listedFiles(plan *sqlguard.Plan) int {
	n := 0
	for _, s := range plan.Sources {
		if s.Files != nil {
			n += s.Files.Len()
		}
	}
	return n
}

const (
	// repeatedRuns is the run of a repeated statement at which a filtered copy is made.
	repeatedRuns = 3
	// indexedRuns is the run at which the copy gets an index. Making the index takes
	// as long as it saves over some hundred statements.
	indexedRuns = 32
	// copyShare is the divisor of a statement's memory that bounds the files of a
	// table whose copy fits: copies use half of the memory, and rows take about four
	// times as much space there as in files.
	copyShare = 8
)

// CopyBytes returns [Limits.CopyBytes] for statements with that much memory.
func CopyBytes(memory int64) int64 { return memory / copyShare }

// copyPays reports whether a repeated statement reads faster from a copy of all visible
// rows than from files. A copy serves every argument: opening a file takes longer than
// scanning a copy, and a shielded table is read as a whole each time. The size of the
// table includes hidden rows, so the decision may change nothing but the time. Copies are
// therefore limited to statements that are proved to process the rows of their table one
// by one: these return the same rows in the same order either way, cannot fail on any
// row, and are batched anew.
func copyPays(relations []sqlguard.Relation, made sqlPlan, args engine.Args, copyBytes int64) bool {
	if len(relations) != 1 || !made.RowByRow() {
		return false
	}
	r := relations[0]
	if !r.Filtered || r.NoPushdown || r.Bytes > copyBytes {
		return false
	}
	return len(args.Positional)+len(args.Named) > 0 || r.Shielded && made.HasConditions()
}

// sqlPlan is the part of a prepared statement that [copyPays] needs.
type sqlPlan interface {
	RowByRow() bool
	HasConditions() bool
}

func (p *Plans) prepare(
	ctx context.Context, statement *sqlguard.Query, q Statement, opts sqlguard.Options, relations []sqlguard.Relation,
) (*cachedPlan, error) {
	prepare := func() (*cachedPlan, error) {
		made, err := statement.Prepare(ctx, p.parser, relations, q.Args)
		return &cachedPlan{Prepared: made}, err
	}
	// The plan holds generated rows, so it can be of any size.
	inline := slices.ContainsFunc(relations, func(r sqlguard.Relation) bool { return r.Inline != nil })
	if inline || len(q.SQL) > maxPlanText {
		return prepare()
	}
	return p.prepared.Get(planKey(statement, q, opts, relations), prepare)
}

func planKey(statement *sqlguard.Query, q Statement, opts sqlguard.Options, relations []sqlguard.Relation) string {
	return statementKey(q.SQL, opts) + relationsKey(relations) + statement.ArgumentKinds(q.Args)
}

func statementKey(sql string, opts sqlguard.Options) string {
	k := memo.NewDigest()
	k.Text(sql, opts.Catalog, opts.Schema, opts.User, opts.Version)
	return k.String()
}

func relationsKey(relations []sqlguard.Relation) string {
	k := memo.NewDigest()
	for _, r := range relations {
		k.Text(r.Source.Location, r.Source.Identity, r.Predicate, r.Inline.Digest())
		for _, list := range []*engine.FileList{r.Source.Files, r.Source.Checked} {
			if list != nil {
				k.Text(list.Digest())
			}
		}
		addCondition(k, r.Condition)
		k.Numbers(r.Source.Version, r.Bytes, int64(len(r.Columns)), int64(len(r.ColumnExpr)), int64(len(r.Secrets)))
		k.Flags(r.Source.Files != nil, r.Source.Checked != nil, r.Narrow != nil, r.Filtered, r.NoPushdown, r.Shielded, r.Sorted)
		for _, c := range r.Columns {
			k.Text(c.Name, c.Type.String())
			k.Flags(c.Nullable)
		}
		for _, name := range slices.Sorted(maps.Keys(r.ColumnExpr)) {
			k.Text(name, r.ColumnExpr[name])
		}
		for _, name := range slices.Sorted(maps.Keys(r.Secrets)) {
			k.Text(name, r.Secrets[name])
		}
	}
	return k.String()
}

// addCondition adds a condition to a digest.
func addCondition(k memo.Digest, c engine.Condition) {
	k.Numbers(int64(c.Op), int64(len(c.Values)), int64(len(c.Children)))
	k.Text(c.Column)
	for _, v := range c.Values {
		k.Text(string(v))
	}
	for _, child := range c.Children {
		addCondition(k, child)
	}
}
