package graph

import "fmt"

// Hook sees every node that Interpret runs, with its inputs' and results' values. Returning an error stops the run.
type Hook func(n *Node, in, out []*Tensor) error

// Interpret runs a program op by op on the host: the oracle of every test, the debug mode, and the fallback where
// there is no plugin. It does what each op's definition says, in the plainest way.
func Interpret(g *Graph, in []*Tensor, hook Hook) (out []*Tensor, err error) {
	defer catch(&err)
	if len(in) != len(g.Params) {
		return nil, fmt.Errorf("graph.Interpret: got %d inputs for %d parameters", len(in), len(g.Params))
	}
	for i, p := range g.Params {
		if !in[i].Shape.Equal(p.shape) {
			return nil, fmt.Errorf("graph.Interpret: input %d is %s, the program wants %s", i, in[i].Shape, p.shape)
		}
	}
	return runGraph(g, in, hook), nil
}

// interpreter runs graphs. Loops run their bodies many times, so it keeps their orders.
type interpreter struct {
	hook   Hook
	orders map[*Graph]*order
}

// order numbers the arrays of a graph: first its parameters, then the results of its nodes.
type order struct {
	inputs  []int // of all nodes, one after the other
	results []int
	values  int
}

func orderOf(g *Graph) *order {
	o := &order{}
	at := make(map[*Array]int, len(g.Params)+len(g.Nodes))
	number := func(arrays []*Array) {
		for _, a := range arrays {
			at[a] = o.values
			o.values++
		}
	}
	numbersOf := func(arrays []*Array) (numbers []int) {
		for _, a := range arrays {
			i, made := at[a]
			if !made {
				panic("graph: a node reads an array that nothing before it makes")
			}
			numbers = append(numbers, i)
		}
		return numbers
	}
	number(g.Params)
	for _, n := range g.Nodes {
		o.inputs = append(o.inputs, numbersOf(n.Inputs)...)
		number(n.Outs)
	}
	o.results = numbersOf(g.Results)
	return o
}

func runGraph(g *Graph, in []*Tensor, hook Hook) []*Tensor {
	return (&interpreter{hook: hook}).run(g, in)
}

func (r *interpreter) run(g *Graph, in []*Tensor) []*Tensor {
	o := r.orders[g]
	if o == nil {
		o = orderOf(g)
		if r.orders == nil {
			r.orders = map[*Graph]*order{}
		}
		r.orders[g] = o
	}
	values := make([]*Tensor, o.values)
	made := copy(values[:len(g.Params)], in)
	all := make([]*Tensor, len(o.inputs))
	for i, at := 0, 0; i < len(g.Nodes); i++ {
		n := g.Nodes[i]
		args := all[at : at+len(n.Inputs) : at+len(n.Inputs)]
		for j := range args {
			args[j] = values[o.inputs[at]]
			at++
		}
		outs := n.eval(args, r)
		if r.hook != nil {
			if err := r.hook(n, args, outs); err != nil {
				panic(&Error{Where: n.Where(), Op: n.Op.Name, Msg: err.Error()})
			}
		}
		made += copy(values[made:], outs[:len(n.Outs)])
	}
	results := make([]*Tensor, len(o.results))
	for i, at := range o.results {
		results[i] = values[at]
	}
	return results
}

func (n *Node) eval(in []*Tensor, r *interpreter) []*Tensor {
	if n.Op.Run != nil {
		return n.Op.Run(n, in, r)
	}
	if n.Op.EvalComplex != nil && len(in) > 0 && isComplex(in[0].Shape.DType) {
		return n.Op.EvalComplex(n, in)
	}
	return n.Op.Eval(n, in)
}

// newTensors makes a tensor for each array.
func newTensors(arrays []*Array) []*Tensor {
	out := make([]*Tensor, len(arrays))
	for i, a := range arrays {
		out[i] = newTensor(a.shape)
	}
	return out
}

// evalInto is the Eval rule of ops whose reference fills its results, as a kernel does.
//
//go:noinline
func evalInto(fill func(in, out []*Tensor)) func(n *Node, in []*Tensor) []*Tensor {
	return func(n *Node, in []*Tensor) []*Tensor {
		out := newTensors(n.Outs)
		fill(in, out)
		return out
	}
}

// evalLazy computes a lazy array. memo holds what has been computed for others.
func evalLazy(a *Array, memo map[*Array]*Tensor) Data {
	var leaf func(x *Array) *Tensor
	leaf = func(x *Array) *Tensor {
		if t := memo[x]; t != nil {
			return t
		}
		if x.node == nil || x != a && x.Concrete() {
			t, err := ToTensor(x)
			if err != nil {
				panic(&Error{Op: "Eval", Msg: err.Error()})
			}
			memo[x] = t
			return t
		}
		args := make([]*Tensor, len(x.node.Inputs))
		for i, y := range x.node.Inputs {
			args[i] = leaf(y)
		}
		outs := x.node.eval(args, new(interpreter))
		for i, o := range x.node.Outs {
			if o.node == x.node { // else another node computes it, such as a product that was moved out of a loop
				memo[o] = outs[i]
			}
		}
		return memo[x]
	}
	return hostBytes(leaf(a).bytes())
}

// Eval makes every leaf of a tree concrete: lazy ones are computed by the reference interpreter, what they share once.
func Eval[T any](v T) (out T, err error) {
	defer catch(&err)
	memo := map[*Array]*Tensor{}
	return MapTree(func(a *Array) *Array { return FromData(a.shape, a.force(memo)) }, v), nil
}
