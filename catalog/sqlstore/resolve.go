package sqlstore

import (
	"context"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
)

// maxNames bounds one call of ResolveTables: SQLite takes 32,766 values, and no
// statement within our size limit names as many tables.
const maxNames = 5000

// candidate is a visible configuration that one of the names may mean, with
// its table of that name, if there is one.
type candidate struct {
	index int
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
	var w where
	w.visible(v)
	var wanted strings.Builder
	var args []any
	for i, name := range names {
		if i > 0 {
			wanted.WriteString(", ")
		}
		wanted.WriteString("(" + strconv.Itoa(i) + ", ?, ?, ?)")
		// A name is an id or a slug, never both: a slug cannot take the
		// place of a configuration's id.
		id, isID := catalog.ParseSchemaName(name.Schema)
		slug := ""
		if !isID {
			slug = catalog.FoldName(name.Schema)
		}
		args = append(args, id, slug, catalog.FoldName(name.Table))
	}
	// A slug shared by two visible configurations is ambiguous even when only
	// one of them has the table, hence the outer join.
	statement := `WITH wanted (i, config_id, slug, name_key) AS (VALUES ` + wanted.String() + `)
		SELECT wanted.i, ` + configColumns + `, t.id IS NOT NULL, COALESCE(t.id, ''), COALESCE(t.delta_id, ''),
		COALESCE(t.previous_delta_id, ''), COALESCE(t.path, ''), COALESCE(t.name, ''), COALESCE(t.name_is_custom, FALSE),
		COALESCE(t.state, ''), COALESCE(t.version, 0), COALESCE(t.registered_at, 0), COALESCE(t.updated_at, 0)
		FROM wanted JOIN storage_configs c ON (c.id = wanted.config_id OR c.slug = wanted.slug) AND ` + w.text + `
		LEFT JOIN delta_tables t ON t.config_id = c.id AND t.name_key = wanted.name_key AND t.state <> '` + string(catalog.TableDropped) + `'`
	candidates, err := list(ctx, s.read(), scanCandidate, statement, append(args, w.args...)...)
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

func scanCandidate(r row) (c candidate, err error) {
	t, config := &c.table.Table, &c.table.StorageConfig
	dest := append([]any{&c.index}, configDest(config)...)
	dest = append(dest, &c.found, &t.ID, &t.DeltaID, &t.PreviousDeltaID, &t.Path, &t.Name, &t.NameIsCustom,
		&t.State, &t.Version, timeAt{&t.RegisteredAt}, timeAt{&t.UpdatedAt})
	err = r.Scan(dest...)
	t.Org, t.Config = config.Org, config.ID
	return c, err
}
