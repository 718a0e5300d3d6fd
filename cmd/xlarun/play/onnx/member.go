package onnx

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"xlarun/graph"
)

// space is the JSON form of a space in the metadata of an exported member.
type space struct {
	Type      string
	N         int
	NVec      []int
	Low, High []*float64
	Shape     []int
}

// Encode returns an exported member, its arrays and metadata (docs/reference/member-file.md), as an ONNX model.
//
// Its inputs are "observation" [batch, …] and, of a policy with memory, "state" [batch, units] (of an LSTM also
// "cell"). Its outputs are "outputs" [batch, n], "action" [batch, …] and "next_state" ("next_cell"). The action is the
// most probable one. The model has the member's metadata. Policies that ONNX has no operators for are refused.
func Encode(arrays map[string]*graph.Array, metadata map[string]string) ([]byte, error) {
	w := &writer{arrays: map[string]weights{}, metadata: metadata}
	for name, a := range arrays {
		x, err := graph.Floats(a)
		if err != nil {
			return nil, err
		}
		w.arrays[name] = weights{a.Dims(), x}
	}
	for key, into := range map[string]*space{"observation_space": &w.observation, "action_space": &w.action} {
		if err := json.Unmarshal([]byte(metadata[key]), into); err != nil {
			return nil, fmt.Errorf("the member's %s is no JSON (%w)", key, err)
		}
	}
	name, _, _ := strings.Cut(metadata["policy"], ":")
	network, ok := networks[name]
	if !ok {
		return nil, fmt.Errorf("ONNX has no operators for the policy %s: it has them for %s", name,
			strings.Join(Policies(), ", "))
	}
	outputs, err := network(w, w.observed())
	if err != nil {
		return nil, err
	}
	w.rename(outputs, "outputs")
	w.output("outputs", float32Type, w.size)
	w.act("outputs")
	var pairs [][2]string
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		pairs = append(pairs, [2]string{key, metadata[key]})
	}
	return w.encode(metadata["xlarun"], pairs), nil
}

// Policies lists the policies that ONNX has operators for, sorted.
func Policies() []string { return slices.Sorted(maps.Keys(networks)) }

// weights are an array of the member.
type weights struct {
	dims    []int
	numbers []float64
}

// writer is a model of a member.
type writer struct {
	model
	arrays              map[string]weights
	metadata            map[string]string
	observation, action space
	size                int // of the outputs
}

// observed adds the observation and returns it as the network sees it, a batch of arrays.
func (w *writer) observed() string {
	if w.observation.Type == "Discrete" {
		w.input("observation", int64Type)
		return w.node("OneHot", []string{"observation", w.ints([]int{1}, w.observation.N), w.floats([]int{2}, 0, 1)})
	}
	w.input("observation", float32Type, w.observation.Shape...)
	x := "observation"
	if w.metadata["normalized_observations"] == "true" {
		x = w.node("Div", []string{w.node("Sub", []string{x, w.array("Observation.Mean")}),
			w.array("Observation.Deviation")})
		x = w.node("Clip", []string{x, w.floats(nil, -10), w.floats(nil, 10)})
	}
	return x
}

// array adds an array of the member.
func (w *writer) array(name string) string {
	a := w.arrays[name]
	return w.floats(a.dims, a.numbers...)
}

// number returns a number in the metadata.
func (w *writer) number(key string) (x float64, err error) {
	if err = json.Unmarshal([]byte(w.metadata[key]), &x); err != nil {
		err = fmt.Errorf("the member's %s is no number (%w)", key, err)
	}
	return x, err
}

// act adds the most probable action of outputs.
func (w *writer) act(outputs string) {
	largest := func(x string) string {
		return w.node("ArgMax", []string{x}, attribute{"axis", 1}, attribute{"keepdims", 0})
	}
	switch {
	case w.action.Type == "MultiDiscrete":
		var each []string
		axis := w.ints([]int{1}, 1)
		for _, logits := range w.nodes("Split", len(w.action.NVec), []string{outputs, w.ints([]int{len(w.action.NVec)},
			w.action.NVec...)}, attribute{"axis", 1}) {
			each = append(each, w.node("Unsqueeze", []string{largest(logits), axis}))
		}
		w.rename(w.node("Concat", each, attribute{"axis", 1}), "action")
		w.output("action", int64Type, len(w.action.NVec))
	case w.metadata["head"] == "argmax":
		w.rename(largest(outputs), "action")
		w.output("action", int64Type)
	default:
		w.rename(w.bounded(outputs), "action")
		w.output("action", float32Type, w.action.Shape...)
	}
}

// bounded maps outputs to a box: tanh, scaled, for elements with bounds; the output itself for others.
func (w *writer) bounded(outputs string) string {
	n := len(w.action.Low)
	middle, half, free := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		low, high := w.action.Low[i], w.action.High[i]
		if low == nil || high == nil {
			free[i] = 1
			continue
		}
		middle[i], half[i] = (*low+*high)/2, (*high-*low)/2
	}
	row := []int{1, n}
	scaled := w.node("Add", []string{w.node("Mul", []string{w.node("Tanh", []string{outputs}),
		w.floats(row, half...)}), w.floats(row, middle...)})
	all := w.node("Add", []string{scaled, w.node("Mul", []string{outputs, w.floats(row, free...)})})
	return w.node("Reshape", []string{all, w.ints([]int{1 + len(w.action.Shape)}, append([]int{-1},
		w.action.Shape...)...)})
}
