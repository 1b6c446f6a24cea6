package sqlguard

import "strings"

// ReadsWhole reports whether the statement may read columns of a table reference
// without naming them: by *, x.*, COLUMNS, the row as a value, a natural join or a
// list of column aliases. The number is that of the reference in Tables.
func (q *Query) ReadsWhole(table int) bool { return q.readsWhole(q.tables[table]) }

func (q *Query) readsWhole(t *tableUse) bool {
	alias := strings.ToLower(t.Alias)
	return q.allNeeded || t.renamed || t.sel != nil && t.sel.star || q.singles[alias] || q.rowStars[alias]
}
