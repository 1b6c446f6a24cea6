package sqlguard

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/arguments"
	"github.com/lakewarden/lakewarden/engine/sqlguard/constant"
	"github.com/lakewarden/lakewarden/engine/sqlguard/explain"
	"github.com/lakewarden/lakewarden/engine/sqlguard/grammar"
	"github.com/lakewarden/lakewarden/engine/sqlguard/limits"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqlguard/sqltext"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Kind is the kind of statement.
type Kind int

// The kinds.
const (
	// KindSelect is a query; DESCRIBE and SUMMARIZE of a query or table are
	// queries too.
	KindSelect Kind = iota
	// KindExplain is EXPLAIN of a query: Query.Explain makes the plan text. The
	// query may be bound like any other, and must not be run, unless it is
	// EXPLAIN ANALYZE: see Query.Analyzes.
	KindExplain
	// KindShowTables is SHOW TABLES [FROM schema]. It has no tables and no
	// plan; the caller answers it from the catalog.
	KindShowTables
	// KindShowAllTables is SHOW ALL TABLES.
	KindShowAllTables
)

// Options configures the checks of a statement and the meaning of names. The zero value is
// usable.
type Options struct {
	Limits grammar.Limits
	// Catalog and Schema qualify unqualified names. They decide which table a column
	// written catalog.schema.table.column belongs to, and are the values of current_catalog
	// and current_schema. Defaults: lake, main.
	Catalog, Schema string
	// User is the value of current_user. Default: user.
	User string
	// Version is the value of version(). Default: Lakewarden.
	Version string
	// EngineVersion is the build of the engine that will run the statement. Filtered tables
	// are read without copies only on the build of the list of leak-proof operations; empty
	// means no build.
	EngineVersion string
}

// TableRef is a reference of the statement to a table of the lake, which excludes CTEs and
// table functions.
type TableRef struct {
	// Catalog and Schema are empty if the user wrote none.
	Catalog, Schema, Name string
	// Alias is the name of the table in the statement: the user's alias, or Name.
	Alias string
	// AtVersion and AtTimestamp hold the AT clause; at most one is set.
	AtVersion   *int64
	AtTimestamp *time.Time
	Position    refusal.Position
}

// Parameters are the parameters of the statement: either Positional is the
// number that must be given, or Named holds their names, sorted.
type Parameters struct {
	Positional int
	Named      []string
}

// Query is a statement that passed the guard. It is immutable and safe for
// concurrent use.
type Query struct {
	text     string
	opts     Options
	kind     Kind
	analyze  bool
	show     TableRef // catalog and schema of SHOW TABLES FROM
	root     *sqltree.Node
	written  explain.Written // of EXPLAIN
	tables   []*tableUse
	selects  []*selectUse
	params   Parameters
	names    map[string][]int // offsets
	volatile bool

	needed    map[string]bool // every name that may be a column
	singles   map[string]bool // names that stand alone: may be a whole row
	rowStars  map[string]bool // x of x.*
	allNeeded bool
	defined   map[string]bool // names that the statement itself gives to columns
	values    []*sqlValue
}

// tableUse is a table reference with its node of the tree.
type tableUse struct {
	TableRef
	node    *sqltree.Node
	sel     *selectUse // the SELECT whose FROM holds it
	aliased bool
	renamed bool // it has column aliases, which count its columns
	sampled bool
}

// sqlValue is a bare word such as current_user: a column if one of that name exists,
// otherwise a constant.
type sqlValue struct {
	node *sqltree.Node
	word string
}

// Parse checks sql and returns it with the tables that it reads. Errors are
// [refusal.Error], or those of the parser other than syntax errors.
func Parse(ctx context.Context, parser engine.Parser, sql string, opts Options) (*Query, error) {
	opts.Limits = opts.Limits.WithDefaults()
	setDefault(&opts.Catalog, "lake")
	setDefault(&opts.Schema, defaultSchema)
	setDefault(&opts.User, "user")
	setDefault(&opts.Version, "Lakewarden")
	if len(sql) > opts.Limits.Bytes {
		return nil, refusal.New(refusal.CodeTooLarge, "", "the statement is longer than %d bytes", opts.Limits.Bytes)
	}
	q := &Query{text: sql, opts: opts}
	if err := q.parse(ctx, parser); err != nil {
		var e *refusal.Error
		if errors.As(err, &e) {
			e.Locate(sql)
			return nil, e
		}
		return nil, err
	}
	return q, nil
}

// defaultSchema is the schema of unqualified names by default. No table of the lake lies in
// it.
const defaultSchema = "main"

func setDefault(s *string, def string) {
	if *s == "" {
		*s = def
	}
}

func (q *Query) parse(ctx context.Context, parser engine.Parser) error {
	text, explains, refusal := stripExplain(q.text)
	if refusal != nil {
		return refusal
	}
	if explains.found {
		q.kind = KindExplain
	}
	q.analyze = explains.analyze
	if refusal := limits.CheckText(text); refusal != nil {
		return refusal
	}
	raw, err := parser.Serialize(ctx, text)
	if err != nil {
		return parserError(err, text)
	}
	root, refusal := grammar.Read(raw, q.opts.Limits)
	if refusal != nil {
		return refusal
	}
	q.root = root
	if explains.found {
		q.written = explain.CopyWritten(root)
	}
	if refusal := limits.CheckExpansion(q.statement()); refusal != nil {
		return refusal
	}
	edits := &sqltree.Edits{}
	a := &analysis{q: q, edits: edits, bounds: arguments.New(edits)}
	if refusal := a.statement(q.statement()); refusal != nil {
		return refusal
	}
	if err := a.finish(ctx, parser); err != nil {
		return err
	}
	if refusal := limits.CheckPlan(q.text, q.statement(), nil); refusal != nil {
		return refusal
	}
	return nil
}

// pivotWord finds PIVOT in a refused statement. Only the hint in the message depends on it.
var pivotWord = regexp.MustCompile(`(?i)\bPIVOT\b`)

// statement returns the tree of the statement.
func (q *Query) statement() *sqltree.Node { return sqltree.StatementOf(q.root) }

// query returns the tree of the statement's query.
func (q *Query) query() *sqltree.Node { return q.statement().Child("node") }

// parserError converts an error of the parser into a refusal.
func parserError(err error, text string) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Kind {
	case engine.KindNotSelect:
		word, at := statementWord(text)
		out := refusal.New(refusal.CodeStatement, strings.ToUpper(word), "only SELECT, DESCRIBE, SUMMARIZE, SHOW TABLES and EXPLAIN are served")
		if pivotWord.MatchString(text) { // the engine makes several statements of it
			return refusal.New(refusal.CodeStatement, "PIVOT",
				"PIVOT has to say which columns it makes: add IN (…) behind the column, with its values")
		}
		return out.AtOffset(at)
	case engine.KindSyntax:
		if e.Class == "too_long" {
			return refusal.New(refusal.CodeTooLarge, "", "the statement is too long")
		}
		out := refusal.New(refusal.CodeSyntax, "", "the statement does not parse, or is nested too deeply")
		if e.Position >= 0 && e.Position <= len(text) {
			out = out.AtOffset(e.Position)
			if w := sqltext.FirstWord(text[e.Position:]); w != "" {
				out.Name = w
				out.Message = "syntax error near " + w
			} else {
				out.Message = "the statement ends too early"
			}
		}
		return out
	}
	return err
}

// statementWord returns the word that determines the kind of a statement, with its
// position: the first word or, after WITH, the first word outside of parentheses that
// begins a statement.
func statementWord(text string) (string, int) {
	at := sqltext.SkipBlank(text, 0)
	first := sqltext.FirstWord(text[at:])
	if !strings.EqualFold(first, "with") {
		return first, at
	}
	depth := 0
	for i := at; i < len(text); {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			i = sqltext.SkipQuoted(text, i, c, false)
		case sqltext.SkipBlank(text, i) > i:
			i = sqltext.SkipBlank(text, i)
		case sqltext.IsWord(c):
			word := sqltext.FirstWord(text[i:])
			switch strings.ToLower(word) {
			case "insert", "update", "delete", "merge":
				if depth == 0 {
					return word, i
				}
			}
			for i < len(text) && (sqltext.IsWord(text[i]) || text[i] >= 0x80) {
				i++
			}
		default:
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			}
			i++
		}
	}
	return first, at
}

// Kind returns the kind of the statement.
func (q *Query) Kind() Kind { return q.kind }

// Analyzes reports whether the statement is EXPLAIN ANALYZE, whose answer is what the
// engine measured while running the query. Measurements reveal hidden rows, so a
// caller may run it only if every table of the statement is fully visible.
func (q *Query) Analyzes() bool { return q.analyze }

// ShowSchema returns catalog and schema of SHOW TABLES FROM, empty if not given.
func (q *Query) ShowSchema() (catalog, schema string) { return q.show.Catalog, q.show.Schema }

// Tables returns the references to tables, in the order in which Bind expects
// their relations. One table may be referenced several times.
func (q *Query) Tables() []TableRef {
	out := make([]TableRef, len(q.tables))
	for i, t := range q.tables {
		out[i] = t.TableRef
	}
	return out
}

// Parameters returns the parameters of the statement.
func (q *Query) Parameters() Parameters { return q.params }

// Nondeterministic reports whether two runs over the same data may differ by
// the statement's own doing: random, now, sampling.
func (q *Query) Nondeterministic() bool { return q.volatile }

// Names maps every name of the statement (column, table or function, in lower case) to its
// positions, in order, for messages about a name that the engine could not resolve.
func (q *Query) Names() map[string][]refusal.Position {
	out := make(map[string][]refusal.Position, len(q.names))
	for name, offsets := range q.names {
		places := make([]refusal.Position, len(offsets))
		for i, off := range offsets {
			places[i] = refusal.PositionIn(q.text, off)
		}
		out[name] = places
	}
	return out
}

// Wrote reports whether a name (column, table, function or collation) occurs in the text.
func (q *Query) Wrote(name string) bool {
	_, ok := q.names[strings.ToLower(name)]
	return ok
}

// Position returns the first place of a name, or the zero Position.
func (q *Query) Position(name string) refusal.Position {
	if p := q.names[strings.ToLower(name)]; len(p) > 0 {
		return refusal.PositionIn(q.text, p[0])
	}
	return refusal.Position{}
}

// ArgumentKinds returns a text that is equal for arguments that share a plan: see
// [Query.Prepare]. It contains kinds of values and no value.
func (q *Query) ArgumentKinds(args engine.Args) string {
	parameters := slices.Clone(q.params.Named)
	for i := range q.params.Positional {
		parameters = append(parameters, strconv.Itoa(i+1))
	}
	return constant.ArgumentsOf(args).Kinds(parameters)
}
