package sparse

import (
	"math"

	"xlarun/graph"
)

const (
	indexMagic = 0x78735f69
	indexHead  = 16 // numbers before an index: magic, inputs, outputs, connections, 1 for the first layer
	indexUnit  = 64 // an index counts units in multiples of it
)

// evalIndex is the reference of xlarun_sparse_index. It has the layout of kernels/sparse_index.c.
func evalIndex(in, out []*graph.Tensor) {
	for l := range out {
		layer := Layer{int(in[0].I(l)), int(in[0].I(l + 1)), in[1+l].Shape.Dims[0]}
		next := 0
		put := func(v int) {
			out[l].SetI(next, int64(v))
			next++
		}
		for i := range indexHead {
			put([]int{indexMagic, layer.In, layer.Out, layer.Connections, isFirst(l), 15: 0}[i])
		}
		var input, output, row []int
		for k := range layer.Connections {
			place := int(in[1+l].I(k))
			line := place / layer.width()
			input = append(input, line/layer.Out*layer.width()+place%layer.width())
			output = append(output, line%layer.Out)
			row = append(row, line)
		}
		for _, units := range [][]int{input, output} {
			for _, i := range units {
				put(i * indexUnit)
			}
		}
		// begins puts the first position of each number 0 to n-1 in a sorted list, and its length.
		begins := func(list []int, n int) {
			k := 0
			for i := range n + 1 {
				for k < len(list) && list[k] < i {
					k++
				}
				put(k)
			}
		}
		begins(row, layer.pieces()*layer.Out)
		if l == 0 {
			continue
		}
		var sorted, by []int
		for i := range layer.In {
			for k, from := range input {
				if from == i {
					sorted, by = append(sorted, i), append(by, k)
				}
			}
		}
		begins(sorted, layer.In)
		for _, k := range by {
			put(k)
		}
		for _, k := range by {
			put(output[k] * indexUnit)
		}
	}
}

func same(v float64) float64 { return v }

// toBF16 rounds to the nearest bfloat16, to the even one of two.
func toBF16(v float64) float64 {
	u := math.Float32bits(float32(v))
	return float64(math.Float32frombits((u + 0x7fff + u>>16&1) &^ 0xffff))
}

// evalKernel is the reference of xlarun_sparse: connection by connection, example by example, in float64. Factors of
// products are rounded by round.
func evalKernel(in, out []*graph.Tensor, round func(float64) float64) {
	images, labels, t := in[1], in[2], int(in[3].I(0))
	inputs, lanes := images.Shape.Dims[1], images.Shape.Dims[2]
	depth := (len(in) - 4) / 2
	type connection struct {
		in, out int
		w       float64
	}
	layers, gradients := make([][]connection, depth), make([][]float64, depth)
	for l := range layers {
		index, w := in[4+2*l], in[5+2*l]
		n := w.Shape.Dims[0]
		for k := range n {
			layers[l] = append(layers[l], connection{int(index.I(indexHead+k)) / indexUnit,
				int(index.I(indexHead+n+k)) / indexUnit, round(w.F(k))})
		}
		gradients[l] = make([]float64, n)
	}
	var loss, right float64
	for e := range lanes {
		label := int(labels.I(t*lanes + e))
		if label < 0 {
			continue
		}
		values := make([][]float64, depth+1)
		values[0] = make([]float64, inputs)
		for i := range inputs {
			values[0][i] = round(float64(images.U((t*inputs+i)*lanes+e)) / 255)
		}
		for l := range depth {
			y := make([]float64, in[0].I(l+1))
			for _, c := range layers[l] {
				y[c.out] += c.w * values[l][c.in]
			}
			for o := range y {
				if l+1 < depth {
					y[o] = round(math.Max(y[o], 0))
				}
			}
			values[l+1] = y
		}
		delta, cross, best := softmax(values[depth], label)
		loss += cross
		if best == label {
			right++
		}
		for l := depth - 1; l >= 0; l-- {
			for o := range delta {
				delta[o] = round(delta[o])
			}
			below := make([]float64, len(values[l]))
			for k, c := range layers[l] {
				gradients[l][k] += delta[c.out] * values[l][c.in]
				if values[l][c.in] > 0 {
					below[c.in] += delta[c.out] * c.w
				}
			}
			delta = below
		}
	}
	out[0].SetF(0, loss)
	out[0].SetF(1, right)
	for l, g := range out[1:] {
		for k, v := range gradients[l] {
			g.SetF(k, v)
		}
	}
}

// softmax returns the gradient of the cross-entropy by the logits, the cross-entropy, and the first largest logit.
func softmax(logits []float64, label int) (delta []float64, cross float64, best int) {
	for c, v := range logits {
		if v > logits[best] {
			best = c
		}
	}
	sum := 0.
	for _, v := range logits {
		sum += math.Exp(v - logits[best])
	}
	delta = make([]float64, len(logits))
	for c, v := range logits {
		delta[c] = math.Exp(v-logits[best]) / sum
	}
	delta[label]--
	return delta, math.Log(sum) - (logits[label] - logits[best]), best
}

func isFirst(l int) int {
	if l == 0 {
		return 1
	}
	return 0
}
