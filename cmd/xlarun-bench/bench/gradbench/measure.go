package gradbench

import (
	"math"

	"xlarun/graph"
)

// Checks returns the loss and the Euclidean norm of all gradients or new parameters of a Result's leaves.
func Checks(out []*graph.Array) ([]float64, error) {
	loss, norm := 0., 0.
	for i, a := range out {
		v, err := graph.Floats(a)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			loss = v[0]
			continue
		}
		for _, x := range v {
			norm += x * x
		}
	}
	return []float64{loss, math.Sqrt(norm)}, nil
}
