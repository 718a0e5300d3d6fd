package graph

import "math"

// FloatInfo is what a float dtype holds. The fields have the names of numpy.finfo.
type FloatInfo struct {
	NMant int     // bits of the significand that are stored
	Eps   float64 // the distance from 1 to the next number
	Tiny  float64 // the smallest normal number: compilers take smaller ones for 0 in some places
	Max   float64 // the largest finite number
}

var floatInfos = map[DType]FloatInfo{
	Float64:  {52, 0x1p-52, 0x1p-1022, math.MaxFloat64},
	Float32:  {23, 0x1p-23, 0x1p-126, math.MaxFloat32},
	Float16:  {10, 0x1p-10, 0x1p-14, 65504},
	BFloat16: {7, 0x1p-7, 0x1p-126, 0x1.fep127},
}

// Finfo returns what a float dtype holds.
func Finfo(d DType) FloatInfo {
	f, ok := floatInfos[d]
	if !ok {
		throw("Finfo", "got %s, want a float dtype", d)
	}
	return f
}
