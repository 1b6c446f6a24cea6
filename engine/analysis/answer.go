package analysis

import "fmt"

// Answer is the outcome of an analysis.
type Answer struct {
	// Result is the typed document of the action. It encodes to JSON, with members in
	// camelCase and lists that are never null.
	Result any
	// Text describes the result in plain English. Where it cites a value it carries a tag
	// [[row:column]], which is among References.
	Text string
	// Confidence says how sure the analysis is of its findings, from 0 to 1.
	Confidence float64
	Proposals  []Proposal
	References []Reference
	// Sampled reports that some statement did not read all rows.
	Sampled  bool
	Warnings []string
}

// Reference is a cell that an answer cites.
type Reference struct {
	// Row is the number of the row in the result's list of rows, from 1.
	Row    int    `json:"row" doc:"Number of the row in the result's rows, from 1"`
	Column string `json:"column"`
	// Value is the value as text, at most [MaxText] characters; nil is NULL.
	Value *string `json:"value" doc:"The value as text; long texts are cut"`
}

// Tag returns the tag that cites the reference in a text.
func (r Reference) Tag() string { return fmt.Sprintf("[[%d:%s]]", r.Row, r.Column) }

// CitedRow is a row that an answer cites.
type CitedRow struct {
	// Row is its number in the answer, from 1.
	Row int `json:"row"`
	// Key has the values of the primary key; it is nil for a table without one.
	Key map[string]*string `json:"key" doc:"Values of the primary key; null without one"`
	// Values has the values as text, cut to [MaxText] characters. A nil value is NULL.
	Values map[string]*string `json:"values" doc:"Values as text; long texts are cut"`
}

// Proposal is a change that an analysis suggests.
type Proposal struct {
	// Title is one sentence that says what the change does.
	Title string
	// Columns are the columns that the change concerns.
	Columns []string
	// Confidence says how sure the analysis is that the change is right, from 0 to 1.
	Confidence float64
	// Change is nil if no request makes the change, for the reason in Title or Warnings.
	Change Change
	Effect Effect
}

// Effect is what a change would do now, counted over the rows that the caller sees. A nil
// number does not apply.
type Effect struct {
	// Rows is the number of rows that the change writes, deletes or masks.
	Rows *int64
	// Violations is the number of rows that a new rule refuses.
	Violations *int64
}

// Number returns a pointer to n, for [Effect].
func Number(n int64) *int64 { return &n }
