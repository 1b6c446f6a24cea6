package analysis

import (
	"context"
	"reflect"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/anomaly"
	"github.com/lakewarden/lakewarden/engine/analysis/changes"
	"github.com/lakewarden/lakewarden/engine/analysis/mapping"
	"github.com/lakewarden/lakewarden/engine/analysis/profile"
	"github.com/lakewarden/lakewarden/engine/analysis/records"
	"github.com/lakewarden/lakewarden/engine/analysis/rules"
	"github.com/lakewarden/lakewarden/engine/analysis/semantic"
	"github.com/lakewarden/lakewarden/engine/analysis/values"
)

// work is what an action does, and the type of its result.
type work struct {
	run    func(context.Context, analysis.Input) (analysis.Answer, error)
	result reflect.Type
}

var actions = map[analysis.Action]work{
	analysis.Summary:            {profile.Summary, reflect.TypeFor[profile.SummaryResult]()},
	analysis.DetectAnomalies:    {anomaly.DetectAnomalies, reflect.TypeFor[anomaly.Result]()},
	analysis.FindDuplicates:     {records.FindDuplicates, reflect.TypeFor[records.Duplicates]()},
	analysis.FixNulls:           {values.FixNulls, reflect.TypeFor[values.NullsResult]()},
	analysis.ExplainRows:        {profile.ExplainRows, reflect.TypeFor[profile.RowsResult]()},
	analysis.StandardizeValues:  {values.StandardizeValues, reflect.TypeFor[values.FormsResult]()},
	analysis.SuggestDomain:      {values.SuggestDomain, reflect.TypeFor[values.DomainResult]()},
	analysis.MergeRecords:       {records.MergeRecords, reflect.TypeFor[records.Merges]()},
	analysis.ExplainChanges:     {changes.Explain, reflect.TypeFor[changes.Changes]()},
	analysis.SuggestConstraints: {rules.SuggestConstraints, reflect.TypeFor[rules.Result]()},
	analysis.ClassifyColumns:    {semantic.Classify, reflect.TypeFor[semantic.Classification]()},
	analysis.SuggestMapping:     {mapping.Suggest, reflect.TypeFor[mapping.Mapping]()},
}

// ResultTypes returns the types of the results, in the order of the actions.
func ResultTypes() []reflect.Type {
	var out []reflect.Type
	for _, a := range analysis.Actions() {
		out = append(out, actions[a].result)
	}
	return out
}

func run(ctx context.Context, action analysis.Action, in analysis.Input) (analysis.Answer, error) {
	return actions[action].run(ctx, in)
}
