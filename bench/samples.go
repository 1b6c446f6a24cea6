package bench

import (
	"math"
	"slices"
)

// Samples are repeated measurements of one value.
type Samples []float64

// Quantile returns the nearest-rank quantile for q in (0, 1], and NaN if there are
// no samples.
func (s Samples) Quantile(q float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	rank := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[max(0, rank)]
}

// Median returns the middle value, or the mean of the two middle ones, and NaN if
// there are no samples.
func (s Samples) Median() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
