package optim_test

import (
	"fmt"

	"xlarun/graph"
	"xlarun/graph/optim"
)

// A loop on the host, here on the reference interpreter; in earnest the step is compiled, or the body of a Scan.
func Example() {
	type line struct{ Slope, Offset *graph.Array }
	x, y := graph.Float32s([]float32{0, 1, 2, 3}), graph.Float32s([]float32{1, 3, 5, 7})
	loss := func(p line) *graph.Array {
		return p.Slope.Mul(x).Add(p.Offset).Sub(y).Square().Mean()
	}

	opt := optim.Chain(optim.ClipByGlobalNorm(1), optim.Adam(optim.Cosine(.2, 150, .01)))
	params := line{graph.Scalar(0), graph.Scalar(0)}
	state := opt.Init(params)
	for range 150 {
		params, state = optim.Step(opt, params, graph.Grad(loss)(params), state)
	}
	slope, _ := graph.Float(params.Slope)
	offset, _ := graph.Float(params.Offset)
	fmt.Printf("%.2f %.2f\n", slope, offset)
	// Output: 2.00 1.00
}
