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

func runGraph(g *Graph, in []*Tensor, hook Hook) []*Tensor {
	env := make(map[*Array]*Tensor, len(g.Nodes)+len(in))
	for i, p := range g.Params {
		env[p] = in[i]
	}
	for _, n := range g.Nodes {
		args := make([]*Tensor, len(n.Inputs))
		for i, a := range n.Inputs {
			args[i] = env[a]
		}
		outs := n.eval(args, hook)
		if hook != nil {
			if err := hook(n, args, outs); err != nil {
				panic(&Error{Where: n.Where(), Op: n.Op.Name, Msg: err.Error()})
			}
		}
		for i, o := range n.Outs {
			env[o] = outs[i]
		}
	}
	results := make([]*Tensor, len(g.Results))
	for i, r := range g.Results {
		results[i] = env[r]
	}
	return results
}

func (n *Node) eval(in []*Tensor, hook Hook) []*Tensor {
	if n.Op.Run != nil {
		return n.Op.Run(n, in, hook)
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
		outs := x.node.eval(args, nil)
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
