package onnx

import (
	"encoding/json"
	"fmt"
	"strings"
)

// networks add a policy's nodes for an observation and return its outputs, [batch, n].
var networks = map[string]func(w *writer, x string) (string, error){
	"mlp": mlp, "linear": mlp, "normedmlp": normedMLP, "cnn": cnn, "blockmlp": blockMLP, "elman": recurrent(elman),
	"gru": recurrent(gru), "mingru": recurrent(minGRU), "ctrnn": recurrent(ctrnn), "lstm": lstm,
	"transformer": transformer, "hyperneat": mlp, "multispatial": mlp, // as their genomes draw them
}

// flat returns a batch of vectors.
func (w *writer) flat(x string) string { return w.node("Flatten", []string{x}, attribute{"axis", 1}) }

// layer is x @ W + B. The last layer of a network sets the number of its outputs.
func (w *writer) layer(name, x string) string {
	w.size = w.arrays[name+".W"].dims[1]
	return w.node("Gemm", []string{x, w.array(name + ".W"), w.array(name + ".B")})
}

// norm is layer normalization, as flax has it.
func (w *writer) norm(name, x string) string {
	return w.node("LayerNormalization", []string{x, w.array(name + ".Scale"), w.array(name + ".Bias")},
		attribute{"axis", -1}, attribute{"epsilon", float32(1e-6)})
}

// layers counts the arrays PREFIX.i SUFFIX.
func (w *writer) layers(prefix, suffix string) int {
	n := 0
	for {
		if _, ok := w.arrays[fmt.Sprintf("%s.%d%s", prefix, n, suffix)]; !ok {
			return n
		}
		n++
	}
}

// activate adds the function between the layers.
func (w *writer) activate(x string) (string, error) {
	switch name := w.metadata["activation"]; name {
	case "tanh", "relu", "sigmoid", "elu", "softplus", "softsign", "gelu":
		return w.node(strings.ToUpper(name[:1])+name[1:], []string{x}), nil
	case "silu":
		return w.node("Mul", []string{x, w.node("Sigmoid", []string{x})}), nil
	default:
		return "", fmt.Errorf("ONNX has no operator for the activation %q", name)
	}
}

func mlp(w *writer, x string) (string, error) { return w.perceptron("Layers", w.flat(x)) }

func (w *writer) perceptron(name, x string) (_ string, err error) {
	n := w.layers(name, ".W")
	for i := range n {
		x = w.layer(fmt.Sprintf("%s.%d", name, i), x)
		if i == n-1 {
			break
		}
		if x, err = w.activate(x); err != nil {
			return "", err
		}
	}
	return x, nil
}

func normedMLP(w *writer, x string) (_ string, err error) {
	x = w.flat(x)
	n := w.layers("Norms", ".Scale")
	for i := range n {
		norm := fmt.Sprintf("Norms.%d", i)
		x = w.norm(norm, w.layer(fmt.Sprintf("Layers.%d", i), x))
		if x, err = w.activate(x); err != nil {
			return "", err
		}
	}
	return w.layer(fmt.Sprintf("Layers.%d", n), x), nil
}

// cnn turns images to channels first, as ONNX has them, and the last features back.
func cnn(w *writer, x string) (_ string, err error) {
	stride, err := w.number("stride")
	if err != nil {
		return "", err
	}
	if w.metadata["channels_first"] != "true" {
		x = w.node("Transpose", []string{x}, attribute{"perm", []int{0, 3, 1, 2}})
	}
	padding := "VALID"
	if w.metadata["padding"] == "same" {
		padding = "SAME_UPPER"
	}
	for i := range w.layers("Convs", ".W") {
		name := fmt.Sprintf("Convs.%d", i)
		kernel := w.arrays[name+".W"]
		x = w.node("Conv", []string{x, w.node("Transpose", []string{w.array(name + ".W")},
			attribute{"perm", []int{3, 2, 0, 1}}), w.array(name + ".B")}, attribute{"auto_pad", padding},
			attribute{"kernel_shape", kernel.dims[:2]}, attribute{"strides", []int{int(stride), int(stride)}})
		if x, err = w.activate(x); err != nil {
			return "", err
		}
	}
	x = w.node("Transpose", []string{x}, attribute{"perm", []int{0, 2, 3, 1}})
	return w.perceptron("Dense.Layers", w.flat(x))
}

// blockMLP multiplies each block's units by the blocks that it reads.
func blockMLP(w *writer, x string) (_ string, err error) {
	var reads [][][]int
	if err := json.Unmarshal([]byte(w.metadata["reads"]), &reads); err != nil {
		return "", fmt.Errorf("the member's reads are no JSON (%w)", err)
	}
	if x, err = w.activate(w.layer("First", w.flat(x))); err != nil {
		return "", err
	}
	for i, blocks := range reads {
		name := fmt.Sprintf("Blocks.%d", i)
		matrix := w.arrays[name+".W"].dims // blocks, what each reads, units
		var all []int
		for _, read := range blocks {
			all = append(all, read...)
		}
		x = w.node("Reshape", []string{x, w.ints([]int{3}, 0, -1, matrix[2])})
		x = w.node("Gather", []string{x, w.ints([]int{len(blocks), len(blocks[0])}, all...)}, attribute{"axis", 1})
		x = w.node("Reshape", []string{x, w.ints([]int{3}, 0, matrix[0], matrix[1])})
		x = w.node("MatMul", []string{w.node("Transpose", []string{x}, attribute{"perm", []int{1, 0, 2}}),
			w.array(name + ".W")})
		x = w.flat(w.node("Transpose", []string{x}, attribute{"perm", []int{1, 0, 2}}))
		if x, err = w.activate(w.node("Add", []string{x, w.array(name + ".B")})); err != nil {
			return "", err
		}
	}
	return w.layer("Last", x), nil
}
