package quantity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Mean returns a mean and its standard error as texts: the error has two digits, and the mean as many decimals as it:
// "3.712" and "0.065". Without a known error, NaN, and with one of 0, the mean has up to 6 digits.
func Mean(mean, standardError float64) (value, spread string) {
	if !(standardError > 0) || math.IsInf(standardError, 0) || math.IsNaN(mean) || math.IsInf(mean, 0) {
		return fmt.Sprintf("%.6g", mean+0), fmt.Sprintf("%.2g", standardError)
	}
	_, exponent, _ := strings.Cut(strconv.FormatFloat(standardError, 'e', 1, 64), "e") // of what is shown: .0996 is .10
	power, _ := strconv.Atoi(exponent)
	decimals := 1 - power
	if decimals > 6 || math.Abs(mean) >= 1e9 || standardError >= 1e6 { // too long to read
		return fmt.Sprintf("%.6g", mean), fmt.Sprintf("%.2g", standardError)
	}
	decimals = max(decimals, 0)
	scale := math.Pow10(decimals)
	return fmt.Sprintf("%.*f", decimals, math.Round(mean*scale)/scale+0), // no -0
		fmt.Sprintf("%.*f", decimals, standardError)
}
