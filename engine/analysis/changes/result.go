package changes

// Changes is the result of explain_changes.
type Changes struct {
	FromVersion int64 `json:"fromVersion"`
	ToVersion   int64 `json:"toVersion"`
	RowsBefore  int64 `json:"rowsBefore"`
	RowsAfter   int64 `json:"rowsAfter"`
	// MatchedBy has the columns by which rows of both versions were matched.
	MatchedBy []string `json:"matchedBy" nullable:"false" doc:"Columns of the key by which rows were matched; empty if there is none"`
	Inserted  int64    `json:"inserted" doc:"Rows that only the later version has"`
	Deleted   int64    `json:"deleted" doc:"Rows that only the earlier version has"`
	Updated   *int64   `json:"updated" doc:"Rows with the same key and other values; null without a key: see deleted and inserted"`
	Unchanged int64    `json:"unchanged"`

	Columns        []ColumnChange `json:"columns" nullable:"false" doc:"Columns that both versions have"`
	AddedColumns   []string       `json:"addedColumns" nullable:"false"`
	RemovedColumns []string       `json:"removedColumns" nullable:"false"`
	ChangedTypes   []TypeChange   `json:"changedTypes" nullable:"false" doc:"Columns whose type changed; their values are compared as text"`
	Examples       []Example      `json:"examples" nullable:"false"`
}

// ColumnChange is what happened to the values of a column.
type ColumnChange struct {
	Column string `json:"column"`
	// Changed is nil without a key.
	Changed     *int64       `json:"changed" doc:"Updated rows with another value; null without a key"`
	NullsBefore int64        `json:"nullsBefore"`
	NullsAfter  int64        `json:"nullsAfter"`
	Transitions []Transition `json:"transitions" nullable:"false" doc:"The most frequent changes of values, as text of at most 200 characters"`
}

// Transition is a change of one value to another.
type Transition struct {
	From *string `json:"from"`
	To   *string `json:"to"`
	Rows int64   `json:"rows"`
}

// TypeChange is a column whose type changed.
type TypeChange struct {
	Column string `json:"column"`
	From   string `json:"from" doc:"Type in SQL"`
	To     string `json:"to" doc:"Type in SQL"`
}

// Example is a row that changed.
type Example struct {
	Row    int    `json:"row"`
	Change string `json:"change" enum:"inserted,deleted,updated"`
	// Key is nil without a primary key.
	Key map[string]*string `json:"key" doc:"Values of the primary key; null without one"`
	// Before and After have the values of the row; those of an updated row are the ones
	// that differ.
	Before map[string]*string `json:"before" doc:"Values in the earlier version; of an updated row those that changed; null if inserted"`
	After  map[string]*string `json:"after" doc:"Values in the later version; of an updated row those that changed; null if deleted"`
}

// The values of Example.Change.
const (
	inserted = "inserted"
	deleted  = "deleted"
	updated  = "updated"
)
