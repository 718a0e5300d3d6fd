package graph

import (
	"math"
	"math/big"
	"reflect"
)

// Arange is start, start + step, … before stop; Go numbers. It is int32 if all three are Go integers, else float32: the
// numbers are computed in float64 and rounded once. A stop that is a number of steps above start, but for rounding,
// is left out: Arange(0.7, 0.8, 0.1) is 0.7. No numbers lie before stop where step leads away from it. Iota(n) is
// Arange(0, n, 1).
func Arange(start, stop, step any) *Array {
	const name = "Arange"
	from, to, by := goNumber(name, start), goNumber(name, stop), goNumber(name, step)
	count := (to - from) / by
	const most = 1 << 31
	if math.IsNaN(count) || count >= most || by == 0 {
		throw(name, "got start %v, stop %v and step %v; want numbers of which fewer than %d lie between, and a step "+
			"other than 0", start, stop, step, most)
	}
	if isWhole(start) && isWhole(stop) && isWhole(step) {
		return wholeArange(name, wide(start), wide(stop), wide(step))
	}
	// What rounding of the three numbers, of their difference and of the quotient adds up to.
	slack := min(0x1p-51*(math.Abs(from)+math.Abs(to))/math.Abs(by), .25)
	n := math.Ceil(count)
	if near := math.Round(count); near >= 1 && math.Abs(count-near) <= slack {
		n = near
	}
	return Convert(Add(Mul(Convert(Iota(int(max(0, n))), Float64), by), from), Float32)
}

// wholeArange is Arange of integers.
func wholeArange(name string, from, to, by *big.Int) *Array {
	span, rest := new(big.Int).Sub(to, from), new(big.Int)
	count, rest := span.QuoRem(span, by, rest)
	if rest.Sign() != 0 && rest.Sign() == by.Sign() {
		count.Add(count, big.NewInt(1))
	}
	n := int(max(0, count.Int64()))
	if n == 0 {
		return Iota(0)
	}
	last := new(big.Int).Mul(by, big.NewInt(int64(n-1)))
	last.Add(last, from)
	for _, end := range []*big.Int{from, last} {
		if !end.IsInt64() || end.Int64() != int64(int32(end.Int64())) {
			throw(name, "got the number %v, which i32 cannot hold: give a float64 as start for f32, or add to an Iota "+
				"that is converted to i64", end)
		}
	}
	step := int32(0)
	if n > 1 {
		step = int32(by.Int64())
	}
	return Add(Mul(Iota(n), step), int32(from.Int64()))
}

// wide is a Go integer of any type.
func wide(x any) *big.Int {
	v := reflect.ValueOf(x)
	if v.CanUint() {
		return new(big.Int).SetUint64(v.Uint())
	}
	return big.NewInt(v.Int())
}

// Logspace is n numbers from base^start to base^stop, both included, with equal quotients. Each is computed in float64
// and rounded once.
func Logspace(start, stop float64, n int, base float64) *Array {
	return spaced("Logspace", start, stop, n, func(x float64) float64 { return math.Pow(base, x) })
}

// Geomspace is n numbers from start to stop, both included and exact, with equal quotients. Both have one sign.
func Geomspace(start, stop float64, n int) *Array {
	if !(start > 0 && stop > 0 || start < 0 && stop < 0) || math.IsInf(start, 0) || math.IsInf(stop, 0) {
		throw("Geomspace", "got the ends %v and %v, want finite numbers of one sign other than 0", start, stop)
	}
	sign := math.Copysign(1, start)
	low, high := math.Log2(sign*start), math.Log2(sign*stop)
	return spaced("Geomspace", 0, 1, n, func(t float64) float64 {
		switch t {
		case 0:
			return start
		case 1:
			return stop
		}
		return sign * math.Exp2(low+(high-low)*t)
	})
}

// goNumber reads a Go number.
func goNumber(name string, x any) float64 {
	switch v := reflect.ValueOf(x); {
	case !v.IsValid():
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	case v.CanFloat():
		return v.Float()
	}
	throw(name, "got a %T, want a Go number", x)
	return 0
}

func isWhole(x any) bool { return !reflect.ValueOf(x).CanFloat() }
