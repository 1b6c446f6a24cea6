package analysis

// Change is a request that a proposal stands for. The kinds are the types of this file.
type Change interface{ change() }

// UpdateRows sets columns of the rows that fulfil a condition.
type UpdateRows struct {
	// Where is a condition in SQL. Set has an expression in SQL for each column that changes.
	Where string
	Set   map[string]string
}

// MergeRows replaces rows by their primary key and deletes others, in one commit.
type MergeRows struct {
	// Rows are replaced; each has the key and the values that change. Values are JSON: see
	// [JSONValue].
	Rows []map[string]any
	// Delete holds the keys of the rows that are deleted.
	Delete []map[string]any
}

// AddCheck adds a CHECK constraint.
type AddCheck struct{ Name, Expr string }

// ForbidNull sets a column to NOT NULL.
type ForbidNull struct{ Column string }

// MakeUnique declares the values of a column unique.
type MakeUnique struct{ Column string }

// SetPrimaryKey sets the primary key.
type SetPrimaryKey struct{ Columns []string }

// ListDomain restricts a column to a list of values, as text.
type ListDomain struct {
	Column string
	Values []string
}

// RangeDomain restricts a column to a range, whose bounds are included. A bound is text; ""
// is no bound.
type RangeDomain struct{ Column, Min, Max string }

// MaskColumn masks a column for all who are not exempt. Mask is null, hash, last4 or year.
type MaskColumn struct{ Column, Mask string }

// MapColumns maps the columns of a CSV file to columns of the table for an insert.
type MapColumns struct {
	// Targets holds a column of the table for each column of the file, in the order of the
	// file; "" leaves the column out.
	Targets []string
}

func (UpdateRows) change()    {}
func (MergeRows) change()     {}
func (AddCheck) change()      {}
func (ForbidNull) change()    {}
func (MakeUnique) change()    {}
func (SetPrimaryKey) change() {}
func (ListDomain) change()    {}
func (RangeDomain) change()   {}
func (MaskColumn) change()    {}
func (MapColumns) change()    {}
