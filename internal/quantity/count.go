// Package quantity writes numbers with their nouns.
package quantity

import "strconv"

// Count returns a number with its noun: "1 step", "2 steps".
func Count[N int | int64 | float64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatFloat(float64(n), 'f', -1, 64) + " " + many
}
