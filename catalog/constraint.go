package catalog

import (
	"fmt"
	"regexp"
	"time"
)

// Limits of constraints.
const (
	MaxConstraintNameBytes = 128
	MaxConstraintBytes     = 16 << 10
	// MaxTableConstraints bounds the constraints that the catalog stores for one table.
	MaxTableConstraints = 200
)

// Constraint is a CHECK constraint that the catalog stores for a table, because the
// table's log cannot express it or because existing rows are not known to satisfy it.
type Constraint struct {
	Org   OrgID
	Table DeltaID
	// Name is unique for the table, regardless of case.
	Name string
	// Expression is DuckDB SQL as its author wrote it.
	Expression string
	CreatedBy  UserID
	CreatedAt  time.Time
}

// StatedRules are the rules that the log of a table states. Columns have their physical
// names.
type StatedRules struct {
	Primary, Unique, Required []string
	// Checks are expressions of the log by the names of the constraints.
	Checks map[string]string
}

// RememberedRules are what is known of the rules of a registered table from its log, in
// case that another writer loses them.
type RememberedRules struct {
	Table TableID
	// DeltaID is the table that was registered then, and Version its version.
	DeltaID DeltaID
	Version int64
	Stated  StatedRules
	// Dropped are the rules that another writer has dropped by name.
	Dropped []DroppedRule
}

// DroppedRule is a rule of a log that was dropped by name. Kind is "primary_key",
// "not_null" or "check".
type DroppedRule struct{ Kind, Name string }

// NewConstraint is the input of [Constraints.AddConstraints].
type NewConstraint struct {
	Name       string
	Expression string
}

var constraintName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ValidateConstraints returns nil or [FieldErrors].
func ValidateConstraints(constraints []NewConstraint) error {
	var e FieldErrors
	seen := map[string]bool{}
	for i, c := range constraints {
		name, expression := fmt.Sprintf("constraints[%d].name", i), fmt.Sprintf("constraints[%d].expr", i)
		folded := FoldName(c.Name)
		switch {
		case len(c.Name) > MaxConstraintNameBytes || !constraintName.MatchString(c.Name):
			e.add(name, "must be letters, digits and _, not begin with a digit, and have at most %d characters", MaxConstraintNameBytes)
		case seen[folded]:
			e.add(name, "is given twice in the request")
		}
		seen[folded] = true
		if c.Expression == "" || len(c.Expression) > MaxConstraintBytes || !storableText(c.Expression) {
			e.add(expression, "must be valid UTF-8 of 1 to %d bytes", MaxConstraintBytes)
		}
	}
	return e.Err()
}
