package linalg

import "xlarun/graph"

// MatrixPower is the n-th power of x [..., m, m]; of a negative n, the power of the inverse, else in x's dtype. As
// jax.numpy.linalg.matrix_power.
func MatrixPower(x *graph.Array, n int) *graph.Array {
	f := graph.Linalg.SquareMatrix("MatrixPower", x)
	if n < 0 {
		x = f
	}
	if x.Rank() > 2 {
		return graph.VMap(func(x *graph.Array) *graph.Array { return MatrixPower(x, n) })(x)
	}
	if n < 0 {
		x, n = Inv(x), -n
	}
	var power *graph.Array // of the bits of n so far
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			if power == nil {
				power = x
			} else {
				power = power.Dot(x)
			}
		}
		if n > 1 {
			x = x.Dot(x)
		}
	}
	if power == nil {
		return graph.Eye(x.DType(), x.Dim(0))
	}
	return power
}

// MultiDot is the product of two or more arrays in the order of least work: matrices, of which the first and the last
// may be vectors. As jax.numpy.linalg.multi_dot.
func MultiDot(arrays ...*graph.Array) *graph.Array {
	const name = "MultiDot"
	if len(arrays) < 2 {
		graph.Throw(name, "got %d arrays, want two or more", len(arrays))
	}
	for i, a := range arrays {
		if end := i == 0 || i == len(arrays)-1; a == nil || a.Rank() != 2 && !(end && a.Rank() == 1) {
			graph.Throw(name, "got %v as array %d, want a matrix, or a vector at the ends", a, i)
		}
	}
	cut := cheapestCuts(arrays)
	var multiply func(from, to int) *graph.Array
	multiply = func(from, to int) *graph.Array {
		if from == to {
			return arrays[from]
		}
		last := cut[[2]int{from, to}]
		return multiply(from, last).Dot(multiply(last+1, to))
	}
	return multiply(0, len(arrays)-1)
}

// cheapestCuts says after which array the product of the arrays from i to j is cut for the fewest multiplications
// (Cormen et al., "Introduction to algorithms", matrix-chain multiplication).
func cheapestCuts(arrays []*graph.Array) map[[2]int]int {
	n := len(arrays)
	size := make([]int, n+1) // array i is [size[i], size[i+1]]
	for i, a := range arrays {
		dims := a.Dims()
		if len(dims) == 1 && i == 0 {
			dims = []int{1, dims[0]}
		} else if len(dims) == 1 {
			dims = []int{dims[0], 1}
		}
		size[i], size[i+1] = dims[0], dims[1]
	}
	cost, cut := map[[2]int]float64{}, map[[2]int]int{}
	for length := 2; length <= n; length++ {
		for i := 0; i+length <= n; i++ {
			j := i + length - 1
			for k := i; k < j; k++ {
				work := float64(size[i]) * float64(size[k+1]) * float64(size[j+1])
				c := cost[[2]int{i, k}] + cost[[2]int{k + 1, j}] + work
				if best, known := cost[[2]int{i, j}]; !known || c < best {
					cost[[2]int{i, j}], cut[[2]int{i, j}] = c, k
				}
			}
		}
	}
	return cut
}
