package onnx

import (
	"encoding/json"
	"errors"
)

var errTau = errors.New("the member's tau is no list of two numbers")

// recurrent is a policy with one vector as its state. cell returns the next state and what the outputs read.
func recurrent(cell func(w *writer, x, h string) (next, seen string, err error)) func(w *writer, x string) (string,
	error) {
	return func(w *writer, x string) (string, error) {
		next, seen, err := cell(w, w.flat(x), w.state("state"))
		if err != nil {
			return "", err
		}
		w.nextState(next, "next_state")
		return w.layer("Out", seen), nil
	}
}

// state adds a state as an input.
func (w *writer) state(name string) string {
	w.input(name, float32Type, w.arrays["Out.W"].dims[0])
	return name
}

func (w *writer) nextState(value, name string) {
	w.rename(value, name)
	w.output(name, float32Type, w.arrays["Out.W"].dims[0])
}

func (w *writer) add(x, y string) string      { return w.node("Add", []string{x, y}) }
func (w *writer) mul(x, y string) string      { return w.node("Mul", []string{x, y}) }
func (w *writer) sub(x, y string) string      { return w.node("Sub", []string{x, y}) }
func (w *writer) tanh(x string) string        { return w.node("Tanh", []string{x}) }
func (w *writer) sigmoid(x string) string     { return w.node("Sigmoid", []string{x}) }
func (w *writer) times(x, name string) string { return w.node("MatMul", []string{x, w.array(name)}) }

// mix is (1 - z) x + z y.
func (w *writer) mix(z, x, y string) string {
	return w.add(w.mul(w.sub(w.floats(nil, 1), z), x), w.mul(z, y))
}

func (w *writer) split(x string, n int) []string {
	return w.nodes("Split", n, []string{x}, attribute{"axis", 1}, attribute{"num_outputs", n})
}

func elman(w *writer, x, h string) (string, string, error) {
	h = w.tanh(w.add(w.add(w.times(x, "Cell.Wx"), w.array("Cell.B")), w.times(h, "Cell.Wh")))
	return h, h, nil
}

func gru(w *writer, x, h string) (string, string, error) {
	in := w.split(w.add(w.times(x, "Cell.Wx"), w.array("Cell.B")), 3)
	recurrent := w.split(w.times(h, "Cell.Wh"), 3)
	r, z := w.sigmoid(w.add(in[0], recurrent[0])), w.sigmoid(w.add(in[1], recurrent[1]))
	candidate := w.tanh(w.add(in[2], w.mul(r, w.add(recurrent[2], w.array("Cell.BN")))))
	h = w.mix(z, candidate, h)
	return h, h, nil
}

func minGRU(w *writer, x, h string) (string, string, error) {
	parts := w.split(w.add(w.times(x, "Cell.W"), w.array("Cell.B")), 2)
	h = w.mix(w.sigmoid(parts[0]), h, parts[1])
	return h, h, nil
}

func ctrnn(w *writer, x, y string) (string, string, error) {
	dt, err := w.number("dt")
	if err != nil {
		return "", "", err
	}
	var tau []float64
	if err := json.Unmarshal([]byte(w.metadata["tau"]), &tau); err != nil || len(tau) != 2 {
		return "", "", errTau
	}
	theta := w.array("Cell.Theta")
	power := w.node("Pow", []string{w.floats(nil, tau[1]/tau[0]), w.sigmoid(w.array("Cell.Time"))})
	rate := w.node("Div", []string{w.floats(nil, dt), w.mul(w.floats(nil, tau[0]), power)})
	change := w.sub(w.add(w.times(w.sigmoid(w.add(y, theta)), "Cell.Wh"), w.times(x, "Cell.Wx")), y)
	y = w.add(y, w.mul(rate, change))
	return y, w.sigmoid(w.add(y, theta)), nil
}

// lstm has two vectors as its state: "state" is what the outputs read, "cell" the memory.
func lstm(w *writer, x string) (string, error) {
	h, c := w.state("state"), w.state("cell")
	gates := w.split(w.add(w.add(w.times(w.flat(x), "Cell.Wx"), w.array("Cell.B")), w.times(h, "Cell.Wh")), 4)
	c = w.add(w.mul(w.sigmoid(gates[1]), c), w.mul(w.sigmoid(gates[0]), w.tanh(gates[2])))
	h = w.mul(w.sigmoid(gates[3]), w.tanh(c))
	w.nextState(h, "next_state")
	w.nextState(c, "next_cell")
	return w.layer("Out", h), nil
}
