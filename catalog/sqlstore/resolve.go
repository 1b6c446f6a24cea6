package sqlstore

import (
	"context"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// maxNames bounds one call of ResolveTables. SQLite allows 32,766 values, and no
// statement within the size limit of queries names as many tables.
const maxNames = 5000

// candidate is a visible configuration that matches one of the names, with its table of
// that name, if any.
type candidate struct {
	index int // of the name
	table catalog.LocatedTable
	found bool
}

// ResolveTables implements [catalog.Tables].
func (s *Store) ResolveTables(ctx context.Context, v catalog.Viewer, names []catalog.TableName) ([]catalog.Resolved, error) {
	answers := make([]catalog.Resolved, len(names))
	for i := range answers {
		answers[i].Err = catalog.ErrNotFound
	}
	if len(names) == 0 {
		return answers, nil
	}
	if len(names) > maxNames {
		return nil, catalog.FieldErrors{{Field: "names", Message: "must have at most " + strconv.Itoa(maxNames) + " entries"}}
	}
	// A name is either an id or a slug: a slug cannot match the id of a configuration.
	byID := wanted{join: "c.id = wanted.schema"}
	bySlug := wanted{join: "c.slug = wanted.schema"}
	for i, name := range names {
		if id, isID := catalog.ParseSchemaName(name.Schema); isID {
			byID.add(i, string(id), name.Table)
		} else {
			bySlug.add(i, catalog.FoldName(name.Schema), name.Table)
		}
	}
	var parts []string
	var args []any
	for _, names := range []wanted{byID, bySlug} {
		if names.values != "" {
			part, values := names.lookup(v)
			parts, args = append(parts, part), append(args, values...)
		}
	}
	statement := strings.Join(parts, " UNION ALL ")
	candidates, err := sqldb.List(ctx, s.db.Read(), scanCandidate, statement, args...)
	if err != nil {
		return nil, err
	}
	seen := make([]int, len(names))
	for _, c := range candidates {
		answer := &answers[c.index]
		seen[c.index]++
		switch {
		case seen[c.index] > 1:
			*answer = catalog.Resolved{Err: catalog.ErrAmbiguous}
		case c.found:
			*answer = catalog.Resolved{Table: c.table}
		}
	}
	return answers, nil
}

// wanted is a list of names that are looked up in the same way, so that the database
// finds their configurations through one index.
type wanted struct {
	join   string
	values string
	args   []any
}

func (n *wanted) add(index int, schema, table string) {
	if n.values != "" {
		n.values += ", "
	}
	n.values += "(" + strconv.Itoa(index) + ", ?, ?)"
	n.args = append(n.args, schema, catalog.FoldName(table))
}

// lookup returns every visible configuration that matches a name, with its table of
// that name. A slug shared by two configurations is ambiguous even if only one has the
// table, hence the outer join.
func (n *wanted) lookup(v catalog.Viewer) (statement string, args []any) {
	var w sqldb.Where
	w.Visible(v)
	return `SELECT wanted.i, ` + configColumns + `, t.id IS NOT NULL, COALESCE(t.id, ''), COALESCE(t.delta_id, ''),
		COALESCE(t.previous_delta_id, ''), COALESCE(t.path, ''), COALESCE(t.name, ''), COALESCE(t.name_is_custom, FALSE),
		COALESCE(t.state, ''), COALESCE(t.version, 0), COALESCE(t.registered_at, 0), COALESCE(t.updated_at, 0)
		FROM (SELECT 0 AS i, '' AS schema, '' AS name_key WHERE FALSE UNION ALL VALUES ` + n.values + `) wanted
		JOIN storage_configs c ON ` + n.join + `
		LEFT JOIN delta_tables t ON t.config_id = c.id AND t.name_key = wanted.name_key AND t.state <> '` + string(catalog.TableDropped) + `'
		WHERE ` + w.Text, append(n.args, w.Args...)
}

func scanCandidate(r sqldb.Row) (c candidate, err error) {
	t, config := &c.table.Table, &c.table.StorageConfig
	dest := append([]any{&c.index}, configDest(config)...)
	dest = append(dest, &c.found, &t.ID, &t.DeltaID, &t.PreviousDeltaID, &t.Path, &t.Name, &t.NameIsCustom,
		&t.State, &t.Version, sqldb.Time(&t.RegisteredAt), sqldb.Time(&t.UpdatedAt))
	err = r.Scan(dest...)
	t.Org, t.Config = config.Org, config.ID
	return c, err
}
