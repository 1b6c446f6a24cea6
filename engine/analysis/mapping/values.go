package mapping

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/semantic"
)

// target is a column of the table with what its values tell.
type target struct {
	column   analysis.Column
	evidence semantic.Evidence
	meaning  semantic.Meaning
	values   map[string]bool
}

// targets describes the columns of a table.
func targets(columns []analysis.Column, evidence []semantic.Evidence) []target {
	out := make([]target, len(columns))
	for i, c := range columns {
		out[i] = target{column: c, evidence: evidence[i], meaning: semantic.Decide(evidence[i]), values: map[string]bool{}}
		for _, v := range evidence[i].Values {
			out[i].values[strings.ToLower(v.Text)] = true
		}
	}
	return out
}

// certain is the confidence of a meaning from which another one contradicts it.
const certain = 0.9

// alikeValues returns how well the values of a column of a file fit a column of the table,
// from -1 to 1, and 0 if they tell nothing.
func alikeValues(source semantic.Evidence, meaning semantic.Meaning, t target) float64 {
	if len(source.Values) == 0 {
		return 0
	}
	if source.Share(t.column.Kind()) < 0.8 {
		return -1
	}
	score := 0.0
	if len(t.values) > 0 {
		shared := 0
		for _, v := range source.Values {
			if t.values[strings.ToLower(v.Text)] {
				shared++
			}
		}
		score = float64(shared) / float64(len(source.Values))
		if t.column.Numeric() {
			score /= 2 // small numbers are in many columns
		}
		if shared == 0 && t.evidence.Complete && t.evidence.Distinct <= 50 && t.column.Kind() == analysis.KindText {
			score = -0.4 // a closed set of other values
		}
	}
	switch {
	case meaning.Type == t.meaning.Type && meaning.Type != semantic.Unknown:
		return max(score, 0.9*min(meaning.Confidence, t.meaning.Confidence))
	case meaning.Confidence > certain && t.meaning.Confidence > certain && score <= 0.2:
		return -0.6
	}
	return score
}
