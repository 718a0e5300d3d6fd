package graph

import (
	"math"
	"reflect"
)

// Arange is start, start + step, … before stop; Go numbers. It is int32 if all three are Go integers, else float32. No
// numbers lie before stop where step leads away from it. Iota(n) is Arange(0, n, 1).
func Arange(start, stop, step any) *Array {
	const name = "Arange"
	from, to, by := goNumber(name, start), goNumber(name, stop), goNumber(name, step)
	n := math.Ceil((to - from) / by)
	const most = 1 << 31
	if math.IsNaN(n) || n >= most || by == 0 {
		throw(name, "got start %v, stop %v and step %v; want numbers of which fewer than %d lie between, and a step "+
			"other than 0", start, stop, step, most)
	}
	v := Iota(int(max(0, n)))
	if isWhole(start) && isWhole(stop) && isWhole(step) {
		return Add(Mul(v, int32(by)), int32(from))
	}
	// In float64, then rounded once, as NumPy's numbers are to within a unit in the last place.
	return Convert(Add(Mul(Convert(v, Float64), by), from), Float32)
}

// Logspace is n numbers from base^start to base^stop, both included, with equal quotients.
func Logspace(start, stop float64, n int, base float64) *Array {
	return Pow(base, Linspace(start, stop, n))
}

// Geomspace is n numbers from start to stop, both included, with equal quotients. Both have one sign.
func Geomspace(start, stop float64, n int) *Array {
	if !(start*stop > 0) {
		throw("Geomspace", "got the ends %v and %v, want numbers of one sign other than 0", start, stop)
	}
	sign := math.Copysign(1, start)
	return Mul(sign, Exp(Linspace(math.Log(sign*start), math.Log(sign*stop), n)))
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
