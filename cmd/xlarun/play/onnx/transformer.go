package onnx

import (
	"fmt"
	"math"
)

// mostMemory is the largest memory that the policy takes.
const mostMemory = 1 << 24

// transformer has a memory of each block as its state, "keys_0" and "values_0" [batch, memory, heads, depth] and so on,
// and "count" [batch], the steps so far. All begin as zeros.
func transformer(w *writer, x string) (string, error) {
	heads, err := w.number("heads")
	if err != nil {
		return "", err
	}
	memory, err := w.number("memory")
	if err != nil {
		return "", err
	}
	width := w.arrays["In.W"].dims[1]
	if heads < 1 || heads != math.Trunc(heads) || heads > float64(width) || width%int(heads) != 0 {
		return "", fmt.Errorf("the member's heads are %v, want a whole number that divides its width %d", heads, width)
	}
	if memory < 1 || memory != math.Trunc(memory) || memory > mostMemory {
		return "", fmt.Errorf("the member's memory is %v, want a whole number from 1 to %d", memory, mostMemory)
	}
	a := &attention{writer: w, heads: int(heads), memory: int(memory), depth: width / int(heads)}
	a.begin()
	x = w.layer("In", w.flat(x))
	for i := range w.layers("Blocks", ".Up.W") {
		block := fmt.Sprintf("Blocks.%d", i)
		x = w.add(x, a.step(i, block+".Attention", w.norm(block+".Seen", x)))
		hidden := w.node("Gelu", []string{w.layer(block+".Up", w.norm(block+".Mixed", x))},
			attribute{"approximate", "tanh"})
		x = w.add(x, w.layer(block+".Down", hidden))
	}
	w.rename(w.add("count", w.ints(nil, 1)), "next_count")
	w.output("next_count", int64Type)
	return w.layer("Out", w.norm("Norm", x)), nil
}

// attention is causal attention one step at a time, with rotary positions (nn.MultiHeadAttention.Step).
type attention struct {
	*writer
	heads, memory, depth int
	cos, sin             string // of the angles of this step: [batch, 1, depth / 2]
	slot                 string // whether this step goes to a place of the memory: [batch, memory, 1, 1]
	seen                 string // whether a place holds a step: [batch, 1, memory]
}

// begin adds what all blocks share.
func (a *attention) begin() {
	a.input("count", int64Type)
	half := a.depth / 2
	frequencies, places := make([]float64, half), make([]int, a.memory)
	for i := range frequencies {
		frequencies[i] = math.Pow(10000, -float64(i)/float64(half))
	}
	for i := range places {
		places[i] = i
	}
	column := a.node("Unsqueeze", []string{"count", a.ints([]int{1}, 1)})
	row := a.ints([]int{1, a.memory}, places...)
	at := a.node("Cast", []string{a.node("Unsqueeze", []string{column, a.ints([]int{1}, 2)})},
		attribute{"to", float32Type})
	angle := a.mul(at, a.floats([]int{1, 1, half}, frequencies...))
	a.cos, a.sin = a.node("Cos", []string{angle}), a.node("Sin", []string{angle})
	slot := a.node("Equal", []string{row, a.node("Mod", []string{column, a.ints(nil, a.memory)})})
	a.slot = a.node("Unsqueeze", []string{slot, a.ints([]int{2}, 2, 3)})
	a.seen = a.node("Unsqueeze", []string{a.node("LessOrEqual", []string{row, column}), a.ints([]int{1}, 1)})
}

// step adds block i's attention of x, [batch, width], and its next memory.
func (a *attention) step(i int, name, x string) string {
	head := func(layer string) string {
		return a.node("Reshape", []string{a.layer(name+"."+layer, x), a.ints([]int{3}, 0, a.heads, a.depth)})
	}
	remember := func(what, one string) string {
		state := fmt.Sprintf("%s_%d", what, i)
		a.input(state, float32Type, a.memory, a.heads, a.depth)
		all := a.node("Where", []string{a.slot, a.node("Unsqueeze", []string{one, a.ints([]int{1}, 1)}), state})
		a.rename(all, "next_"+state)
		a.output("next_"+state, float32Type, a.memory, a.heads, a.depth)
		return all
	}
	keys := remember("keys", a.rotary(head("Key")))
	values := remember("values", head("Value"))
	query := a.node("Div", []string{a.rotary(head("Query")), a.floats(nil, math.Sqrt(float64(a.depth)))})
	scores := a.node("Einsum", []string{query, keys}, attribute{"equation", "bhd,bkhd->bhk"})
	scores = a.node("Where", []string{a.seen, scores, a.floats(nil, -math.MaxFloat32)})
	weights := a.node("Softmax", []string{scores}, attribute{"axis", -1})
	return a.layer(name+".Out",
		a.flat(a.node("Einsum", []string{weights, values}, attribute{"equation", "bhk,bkhd->bhd"})))
}

// rotary turns the pairs of features of x, [batch, heads, depth].
func (a *attention) rotary(x string) string {
	parts := a.nodes("Split", 2, []string{x}, attribute{"axis", 2}, attribute{"num_outputs", 2})
	p, q := parts[0], parts[1]
	return a.node("Concat", []string{a.sub(a.mul(p, a.cos), a.mul(q, a.sin)), a.add(a.mul(q, a.cos), a.mul(p, a.sin))},
		attribute{"axis", 2})
}
