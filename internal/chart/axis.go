package chart

import (
	"math"
	"strconv"
	"strings"
)

// Range is the interval of values that an axis shows.
type Range struct{ Min, Max float64 }

// empty is the range of no values.
var empty = Range{math.Inf(1), math.Inf(-1)}

// include widens a range to contain a value.
func (r *Range) include(v float64) { r.Min, r.Max = min(r.Min, v), max(r.Max, v) }

// usable widens a range of almost no length, so that ticks fit on it.
func (r Range) usable() Range {
	if r.Min > r.Max {
		return Range{0, 1}
	}
	if least := 1e-9 * max(math.Abs(r.Min), math.Abs(r.Max)); r.Max/2-r.Min/2 <= least {
		half := max(.5, 1e6*least)
		r.Min, r.Max = r.Min-half, r.Max+half
	}
	return r
}

// fraction returns the position of a value in the range, from 0 to 1.
func (r Range) fraction(v float64) float64 { return (v/2 - r.Min/2) / (r.Max/2 - r.Min/2) } // halves do not overflow

// tick is a labeled value of an axis.
type tick struct {
	value float64
	text  string
}

// ticks returns at most a number of ticks (at least two), at multiples of 1, 2 or 5 times a power of ten. If whole,
// ticks are whole numbers, so a short range has fewer.
func (r Range) ticks(most int, whole bool) (all []tick) {
	half := (r.Max/2 - r.Min/2) / float64(max(most, 2))
	exponent := int(math.Floor(math.Log10(half)))
	var step float64
	for _, factor := range []float64{1, 2, 5, 10, 20} {
		if step = factor * math.Pow10(exponent); step/2 >= half {
			break
		}
	}
	if whole {
		step = max(step, 1)
	}
	// Labels show the digits down to the step's first one.
	last := int(math.Floor(math.Log10(step) + 1e-9))
	most10 := int(math.Floor(math.Log10(max(math.Abs(r.Min), math.Abs(r.Max)))))
	for i := math.Ceil(r.Min / step); i*step <= r.Max; i++ {
		all = append(all, tick{i * step, number(i*step, most10, last)})
	}
	return all
}

// number writes a value whose digits range from one power of ten down to another.
func number(v float64, first, last int) string {
	if v == 0 {
		return "0"
	}
	if first < 6 && last > -5 {
		return strconv.FormatFloat(v, 'f', max(0, -last), 64)
	}
	digits := int(math.Floor(math.Log10(math.Abs(v)))) - last
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', min(max(digits, 0), 15), 64), "e")
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimSuffix(strings.TrimRight(mantissa, "0"), ".")
	}
	sign, power := "", strings.TrimLeft(exponent, "+-0")
	if strings.HasPrefix(exponent, "-") {
		sign = "-"
	}
	if power == "" {
		return mantissa
	}
	return mantissa + "e" + sign + power
}
