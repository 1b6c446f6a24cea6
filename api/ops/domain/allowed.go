package domain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	rules "github.com/lakewarden/lakewarden/engine/domain"
)

// AllowedInput asks for the values that a column may have.
type AllowedInput struct {
	Table  access.Path
	Column string
	// Parent selects the children of a parent; nil means all.
	Parent *string
	// Prefix is what values begin with.
	Prefix string
	// Page bounds values that come from a table. Listed values are always complete.
	Page catalog.Page
}

// Allowed are values that a column may have.
type Allowed struct {
	Column string
	Values []catalog.DomainValue
	Next   string
}

const allowedList = "allowed-values"

// AllowedValues lists the values that a column may have: all of a listed domain, or those
// in the rows that the caller sees of the table that a domain takes its values from. It
// lists none for callers who do not see values of the column. Errors: catalog.ErrNotFound
// for a column without a domain, [ErrKind] for a range, those of opening a table.
func (o Service) AllowedValues(ctx context.Context, in AllowedInput) (Allowed, error) {
	c, err := o.open(ctx, in.Table, in.Column)
	if err != nil {
		return Allowed{}, err
	}
	d, err := o.domain(ctx, c)
	if err != nil {
		return Allowed{}, err
	}
	out := Allowed{Column: c.field.Name, Values: []catalog.DomainValue{}}
	switch {
	case d.Domain.Kind == catalog.DomainRange:
		return out, ErrKind
	case c.masked():
		return out, nil
	}
	if d.Parent == "" {
		in.Parent = nil
	} else if in.Parent != nil {
		parent, ok := fieldByPhysical(c.table, d.Parent)
		if !ok || c.table.Masks(parent.Name) {
			return out, nil
		}
		text, err := oneValue(parent.Type, "parent_value", *in.Parent)
		if err != nil {
			return out, err
		}
		in.Parent = &text
	}
	if d.Domain.Source == nil {
		out.Values, err = o.listedValues(ctx, c, d, in)
		return out, err
	}
	return out, o.sourceValues(ctx, c, d, in, &out)
}

func (o Service) listedValues(ctx context.Context, c column, d catalog.ColumnDomain, in AllowedInput) ([]catalog.DomainValue, error) {
	values, err := o.Store.DomainValues(ctx, c.actor.Org, d.Domain.ID)
	if err != nil {
		return nil, err
	}
	parents := map[catalog.ValueID]bool{}
	out := []catalog.DomainValue{}
	for _, v := range values.Values {
		if d.Parent != "" && v.Parent == "" {
			parents[v.ID] = in.Parent == nil || v.Value == *in.Parent
			continue
		}
		if (d.Parent == "" || parents[v.Parent]) && strings.HasPrefix(v.Value, in.Prefix) {
			out = append(out, v)
		}
	}
	return out, nil
}

// sourceValues adds a page of the values of another table, in the order of the values. The
// token of the next page holds the last value, so a page does not depend on those before.
func (o Service) sourceValues(ctx context.Context, c column, d catalog.ColumnDomain, in AllowedInput, out *Allowed) error {
	cursor, paged, err := in.Page.Cursor(allowedList)
	if err != nil {
		return err
	}
	if paged && cursor.ID != in.digest(d.Domain.ID) {
		return fault.Invalid("page_token", "must be the token of a reply to the same request")
	}
	located, err := o.Tables.Registered(ctx, c.actor.Viewer, d.Domain.Source.Config, d.Domain.Source.Table)
	if err != nil {
		if errors.Is(err, catalog.ErrNotFound) {
			err = access.ErrReferenceNotShared
		}
		return err
	}
	t, err := o.Tables.Open(ctx, c.actor, access.Ref{Table: &located, Rows: true})
	if err != nil {
		return err
	}
	value, ok := fieldByPhysical(t, d.Domain.Source.Column)
	if !ok || t.Masks(value.Name) {
		return nil
	}
	v := rules.As(qualified("s", value), value.Type, c.field.Type)
	conditions := []string{v + " IS NOT NULL"}
	if in.Parent != nil {
		key, ok := fieldByPhysical(t, d.Domain.Source.ParentKey)
		if !ok || t.Masks(key.Name) {
			return nil
		}
		parent, _ := fieldByPhysical(c.table, d.Parent)
		conditions = append(conditions, rules.As(qualified("s", key), key.Type, parent.Type)+" = "+rules.Literal(parent.Type, *in.Parent))
	}
	size := in.Page.Limit()
	if in.Page.Size == 0 {
		size = catalog.MaxPageSize
	}
	args := engine.Args{}
	bind := func(text string) string {
		args.Positional = append(args.Positional, text)
		return "$" + strconv.Itoa(len(args.Positional))
	}
	conditions = append(conditions, prefixed(v, c.field.Type, in.Prefix, bind)...)
	if paged {
		conditions = append(conditions, v+" > "+cast(bind(cursor.Key), c.field.Type))
	}
	id, err := uuid.Parse(string(d.Domain.ID))
	if err != nil {
		return fmt.Errorf("id of a domain: %w", err)
	}
	err = o.Queries.RunGenerated(ctx, c.actor, query.Generated{
		Purpose: allowedList, Tables: map[string]access.Table{sourceName: t}, Args: args,
		SQL: "SELECT " + rules.TextSQL(c.field.Type, "v") + " FROM (SELECT DISTINCT " + v + " AS v FROM " + sourceName +
			" AS s WHERE " + strings.Join(conditions, " AND ") + " ORDER BY v LIMIT " + strconv.Itoa(size+1) + ") ORDER BY v",
	}, func(r engine.Row) error {
		text := r.Text(0)
		out.Values = append(out.Values, catalog.DomainValue{ID: catalog.ValueID(uuid.NewSHA1(id, []byte(text)).String()), Value: text})
		return nil
	})
	if err != nil {
		return err
	}
	if len(out.Values) > size {
		out.Values = out.Values[:size]
		out.Next = catalog.Cursor{List: allowedList, Key: out.Values[size-1].Value, ID: in.digest(d.Domain.ID)}.Token()
	}
	return nil
}

// prefixed returns the conditions that a value begins with a text. The bound of a string
// lets files be skipped.
func prefixed(v string, t delta.DataType, prefix string, bind func(string) string) []string {
	if prefix == "" {
		return nil
	}
	if t == delta.String {
		return []string{v + " >= " + bind(prefix), "starts_with(" + v + ", " + bind(prefix) + ")"}
	}
	return []string{"starts_with(" + rules.TextSQL(t, v) + ", " + bind(prefix) + ")"}
}

// digest returns what ties a token to its request.
func (in AllowedInput) digest(domain catalog.DomainID) string {
	parent := ""
	if in.Parent != nil {
		parent = "=" + *in.Parent
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", domain, parent, in.Prefix))
	return hex.EncodeToString(sum[:8])
}
