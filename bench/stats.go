package main

import (
	"fmt"
	"math"
	"slices"
)

// median returns the middle of a list, between the two in the middle where there is none; NaN of
// nothing.
func median(list []float64) float64 { return quantile(list, 0.5) }

// quantile returns the value below which a share of the list lies.
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

// ratios returns the quotients of two measurements round by round: what the machine does in a
// round, it does to both.
func ratios(of, to []float64) []float64 {
	var list []float64
	for n := range min(len(of), len(to)) {
		list = append(list, of[n]/to[n])
	}
	return list
}

// spread returns a list for a table: the median and between what it lies.
func spread(list []float64) string {
	if len(list) == 0 {
		return "–"
	}
	return fmt.Sprintf("%s [%s–%s]", short3(median(list)), short3(slices.Min(list)), short3(slices.Max(list)))
}

// short3 returns a number with three digits that count.
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
