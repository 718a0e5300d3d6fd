package graph

import "math"

// The reference side of linear algebra: textbook loops on float64.

// dense is a row-major matrix of the reference interpreter.
type dense struct {
	rows, cols int
	v          []float64
}

func newDense(rows, cols int) dense { return dense{rows, cols, make([]float64, rows*cols)} }

func (m dense) at(i, j int) float64     { return m.v[i*m.cols+j] }
func (m dense) set(i, j int, x float64) { m.v[i*m.cols+j] = x }

func (m dense) transposed() dense {
	t := newDense(m.cols, m.rows)
	for i := range m.rows {
		for j := range m.cols {
			t.set(j, i, m.at(i, j))
		}
	}
	return t
}

func (m dense) clone() dense { return dense{m.rows, m.cols, append([]float64(nil), m.v...)} }

func identity(n int) dense {
	m := newDense(n, n)
	for i := range n {
		m.set(i, i, 1)
	}
	return m
}

func (m dense) column(j int) []float64 {
	c := make([]float64, m.rows)
	for i := range c {
		c[i] = m.at(i, j)
	}
	return c
}

func (m dense) scaleColumn(j int, by float64) {
	for i := range m.rows {
		m.set(i, j, m.at(i, j)*by)
	}
}

// evalMatrices runs f for each matrix under the leading axes of the first input. It gives the inputs' matrices (vectors
// are matrices of one row) and takes the results' elements.
func evalMatrices(n *Node, in []*Tensor, f func(in []dense) [][]float64) []*Tensor {
	outs := make([]*Tensor, len(n.Outs))
	for i, o := range n.Outs {
		outs[i] = newTensor(o.shape)
	}
	fillMatrices(in, outs, f)
	return outs
}

func fillMatrices(in, outs []*Tensor, f func(in []dense) [][]float64) {
	leading := in[0].Shape.Rank() - 2
	for k := range product(in[0].Shape.Dims[:leading]) {
		args := make([]dense, len(in))
		for i, x := range in {
			core := x.Shape.Dims[leading:]
			m := newDense(product(core[:len(core)-1]), core[len(core)-1])
			for j := range m.v {
				m.v[j] = x.float(k*len(m.v) + j)
			}
			args[i] = m
		}
		for i, r := range f(args) {
			for j, x := range r {
				if isFloat(outs[i].Shape.DType) {
					outs[i].SetF(k*len(r)+j, x)
				} else {
					outs[i].SetI(k*len(r)+j, int64(x))
				}
			}
		}
	}
}

// matrixKernel is a kernel for the matrices under any leading axes.
//
//go:noinline
func matrixKernel(target string, f func(config []int, in []dense) [][]float64) *Kernel {
	return &Kernel{Target: target, Leading: true, evalConfig: func(config []int, in, out []*Tensor) {
		fillMatrices(in, out, func(in []dense) [][]float64 { return f(config, in) })
	}}
}

// canonicalColumns is canonicalSigns of a matrix, for the reference.
func (m dense) canonicalColumns() []float64 {
	signs := make([]float64, m.cols)
	for j := range signs {
		top := 0.0
		for i := range m.rows {
			top = math.Max(top, math.Abs(m.at(i, j)))
		}
		i := 0
		for i < m.rows-1 && !(math.Abs(m.at(i, j)) >= top/2) {
			i++
		}
		signs[j] = 1
		if m.at(i, j) < 0 {
			signs[j] = -1
		}
	}
	return signs
}
