package main

import (
	"fmt"
	"math"
	"slices"
)

// median returns the median of a list, or NaN if the list is empty.
func median(list []float64) float64 { return quantile(list, 0.5) }

// quantile returns the value such that the given share of the list is below it, or NaN if the list
// is empty.
func quantile(list []float64, share float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(list))
	at := share * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// ratios returns the quotient of two measurements for each round. Both values of a quotient are
// from the same round, because the state of the machine affects both of them equally.
func ratios(of, to []float64) []float64 {
	var list []float64
	for n := range min(len(of), len(to)) {
		list = append(list, of[n]/to[n])
	}
	return list
}

// spread returns the median and the range of a list, as text for a table.
func spread(list []float64) string {
	if len(list) == 0 {
		return "–"
	}
	return fmt.Sprintf("%s [%s–%s]", short3(median(list)), short3(slices.Min(list)), short3(slices.Max(list)))
}

// short3 returns a number as text with three significant digits.
func short3(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	digits := 2
	if a := math.Abs(v); a != 0 {
		digits = min(max(2-int(math.Floor(math.Log10(a))), 0), 4)
	}
	return fmt.Sprintf("%.*f", digits, v)
}
