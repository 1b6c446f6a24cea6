package analysis

// Action names an analysis.
type Action string

// The actions.
const (
	Summary            Action = "summary"
	DetectAnomalies    Action = "detect_anomalies"
	FindDuplicates     Action = "find_duplicates"
	FixNulls           Action = "fix_nulls"
	ExplainRows        Action = "explain_rows"
	StandardizeValues  Action = "standardize_values"
	SuggestDomain      Action = "suggest_domain"
	MergeRecords       Action = "merge_records"
	ExplainChanges     Action = "explain_changes"
	SuggestConstraints Action = "suggest_constraints"
	ClassifyColumns    Action = "classify_columns"
	SuggestMapping     Action = "suggest_mapping"
)

// Actions lists the actions.
func Actions() []Action {
	return []Action{Summary, DetectAnomalies, FindDuplicates, FixNulls, ExplainRows, StandardizeValues, SuggestDomain, MergeRecords,
		ExplainChanges, SuggestConstraints, ClassifyColumns, SuggestMapping}
}
