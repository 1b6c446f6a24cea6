package table

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Browser pages through the rows of one table. All pages of a walk come from the
// version of the first one.
type Browser struct {
	Tables  access.Tables
	Queries *query.Service
}

// BrowseInput is a request for a page of rows.
type BrowseInput struct {
	Table access.Path
	// Select holds column names, or several with commas between them; empty means all. A value
	// with a comma that is the name of a visible column is that column.
	Select []string
	// Where is an SQL condition of the caller; empty means all rows.
	Where string
	// OrderBy holds column names in the same way, each with an optional " asc" or " desc".
	OrderBy []string
	// MaxStaleness is that of [query.Statement].
	MaxStaleness *time.Duration
	Page         catalog.Page
}

// BrowsePage is a running page. Next is the token of the next page; it is valid if the result was
// cut at Size rows.
type BrowsePage struct {
	*query.Rows
	Size int
	Next string
}

const browseList = "rows"

// Run starts a page. Errors are those of [query.Service.Run].
func (o Browser) Run(ctx context.Context, in BrowseInput) (BrowsePage, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return BrowsePage{}, err
	}
	if err := a.Require(auth.ScopeTablesQuery); err != nil {
		return BrowsePage{}, err
	}
	version, offset, err := o.start(ctx, a, in)
	if err != nil {
		return BrowsePage{}, err
	}
	size := in.Page.Limit()
	c, err := o.compose(ctx, a, in, version, offset, size)
	if err != nil {
		return BrowsePage{}, err
	}
	query := c.Statement()
	query.Schema, query.MaxStaleness = in.Table.Schema, in.MaxStaleness
	rows, err := o.Queries.Run(ctx, query)
	if err != nil {
		return BrowsePage{}, err
	}
	next := catalog.Cursor{List: browseList, Key: fmt.Sprintf("%d/%d", version, offset+int64(size)), ID: in.digest()}
	return BrowsePage{Rows: rows, Size: size, Next: next.Token()}, nil
}

// start reads the token, or pins the newest version.
func (o Browser) start(ctx context.Context, a caller.Identity, in BrowseInput) (version, offset int64, err error) {
	cursor, ok, err := in.Page.Cursor(browseList)
	if err != nil {
		return 0, 0, err
	}
	if ok {
		v, off, _ := strings.Cut(cursor.Key, "/")
		version, err1 := strconv.ParseInt(v, 10, 64)
		offset, err2 := strconv.ParseInt(off, 10, 64)
		if err1 != nil || err2 != nil || version < 0 || offset < 0 || cursor.ID != in.digest() {
			return 0, 0, fault.Invalid("page_token", "must be the token of a reply to the same request")
		}
		return version, offset, nil
	}
	version, err = o.Tables.Version(ctx, a, in.Table, in.MaxStaleness)
	return version, 0, err
}

// digest returns what ties a token to its request.
func (in BrowseInput) digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", in.Table, in.Select, in.Where, in.OrderBy))
	return hex.EncodeToString(sum[:8])
}

// compose writes the statement. It is a statement of the caller like any other, and the guard
// checks all of it. It reads one row more than the page, to know whether another page follows.
func (o Browser) compose(ctx context.Context, a caller.Identity, in BrowseInput, version, offset int64, size int) (query.Composer, error) {
	var c query.Composer
	var t access.Table
	if len(in.OrderBy) > 0 || slices.ContainsFunc(in.Select, hasComma) {
		var err error
		at := delta.AtVersion(version)
		if t, err = o.Tables.Open(ctx, a, access.Ref{Path: in.Table, At: &at, Rows: true}); err != nil {
			return c, err
		}
	}
	from := fmt.Sprintf("FROM %s.%s AT (VERSION => %d)", engine.QuoteIdent(in.Table.Schema), engine.QuoteIdent(in.Table.Table), version)
	c.Names("select", "SELECT ", identifiers(split(t, in.Select, false), "*"))
	c.Own("\n" + from + "\n")
	if in.Where != "" {
		if err := o.Queries.CheckCondition(ctx, a, query.Condition{Where: in.Where, From: from, Schema: in.Table.Schema,
			MaxStaleness: in.MaxStaleness}); err != nil {
			return c, err
		}
		c.Text("where", "WHERE (", in.Where, ")")
		c.Own("\n")
	}
	if len(in.OrderBy) > 0 {
		order, err := ordering(split(t, in.OrderBy, true))
		if err != nil {
			return c, err
		}
		c.Names("order_by", "ORDER BY ", order)
		c.Own("\n" + tieBreakers(t) + "\n")
	}
	c.Own(fmt.Sprintf("LIMIT %d OFFSET %d", size+1, offset))
	return c, nil
}

// tieBreakers orders rows that are equal in the caller's order by all visible columns. Each page
// is a statement of its own, and otherwise equal rows could change places between two pages.
func tieBreakers(t access.Table) string {
	var b strings.Builder
	for _, c := range t.VisibleColumns() {
		b.WriteString(", " + engine.QuoteIdent(c.Name))
	}
	return b.String()
}

func hasComma(text string) bool { return strings.Contains(text, ",") }

// split splits values at commas, except those that name a visible column of t as they are.
func split(t access.Table, values []string, directed bool) []string {
	var out []string
	for _, value := range values {
		name := strings.TrimSpace(value)
		if directed {
			name, _ = direction(name)
		}
		if !hasComma(value) {
			out = append(out, value)
		} else if _, whole := t.Column(name); whole {
			out = append(out, value)
		} else {
			out = append(out, strings.Split(value, ",")...)
		}
	}
	return out
}

// direction cuts " asc" or " desc" from the end of a term.
func direction(term string) (name, after string) {
	if cut := strings.LastIndexByte(term, ' '); cut >= 0 {
		switch word := strings.ToLower(term[cut+1:]); word {
		case "asc", "desc":
			return strings.TrimSpace(term[:cut]), " " + word
		}
	}
	return term, ""
}

func identifiers(names []string, all string) string {
	if len(names) == 0 {
		return all
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = engine.QuoteIdent(strings.TrimSpace(n))
	}
	return strings.Join(quoted, ", ")
}

func ordering(terms []string) (string, error) {
	out := make([]string, len(terms))
	for i, term := range terms {
		name, after := direction(strings.TrimSpace(term))
		if name == "" {
			return "", fault.Invalid("order_by", "must be column names, each followed by asc or desc or not")
		}
		out[i] = engine.QuoteIdent(name) + after
	}
	return strings.Join(out, ", "), nil
}
