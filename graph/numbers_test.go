package graph

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// A number that a dtype does not hold is refused by the function that was called, under its name.
func TestRefusedNumbers(t *testing.T) {
	half := Of([]float64{1}).Convert(Float16)
	for _, c := range []struct {
		want string
		f    func()
	}{
		{"Full: 1e+39 is no value of c64, and no wider complex dtype exists", func() {
			Full(ShapeOf(Complex64), 1e39)
		}},
		{"Full: (1+1e+39i) is no value of c64", func() { Full(ShapeOf(Complex64), complex(1, 1e39)) }},
		{"Full: 16777217 is no value of c64", func() { Full(ShapeOf(Complex64), 1<<24+1) }},
		{"mul: 1e+39 is no value of c64", func() { Mul(Full(ShapeOf(Complex64), 1), 1e39) }},
		{"Full: 2 is no value of bool: want 0, 1, true or false", func() { Full(ShapeOf(Bool), 2) }},
		{"Full: -1 is no value of bool", func() { Full(ShapeOf(Bool, 3), -1) }},
		{"Full: 2 is no value of bool", func() { Full(ShapeOf(Bool), 2.) }},
		{"NanToNum: 1e+09 is no value of f16: use a wider dtype, such as f32", func() { NanToNum(half, 1e9) }},
		{"NanToNum: -70000 is no value of f16", func() { NanToNum(half, 0, 1, -70000) }},
		{"Scalar: 1e+39 is no value of f32: use a wider dtype, such as f64", func() { Scalar(1e39) }},
		{"FullLike: 300 is no value of u8", func() { FullLike(Zeros(ShapeOf(Uint8)), 300) }},
		{"Where: 1e+39 is no value of f32", func() { Where(Of(true), 1e39, Of(1.)) }},
		{"Where: ", func() { Where(Of([]bool{true, false}), Of([]float64{1, 2, 3}), 0) }},
	} {
		require.ErrorContains(t, Try(c.f), c.want)
	}
	for _, a := range []*Array{Full(ShapeOf(Bool), 1), Full(ShapeOf(Bool), 0.), Full(ShapeOf(Complex64), math.Inf(1)),
		Full(ShapeOf(Complex64), 1<<24), NanToNum(half, math.Inf(1)), NanToNum(half, .1)} {
		_, err := ToTensor(a)
		require.NoError(t, err)
	}
}
