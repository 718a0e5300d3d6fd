package genome

import (
	"math"
	"slices"

	"xlarun/graph"
)

// fold adds one term of a node, weight · source, to an aggregate. start is the aggregate of no terms. A NaN among the
// terms makes the aggregate NaN.
type fold struct {
	start float64
	add   func(aggregate, term *graph.Array) *graph.Array
}

// folds lists the folds by name.
var folds = map[string]fold{
	"sum":     {0, func(aggregate, term *graph.Array) *graph.Array { return aggregate.Add(term) }},
	"product": {1, func(aggregate, term *graph.Array) *graph.Array { return aggregate.Mul(term) }},
	"max":     {math.Inf(-1), func(aggregate, term *graph.Array) *graph.Array { return aggregate.Max(term) }},
	"min":     {math.Inf(1), func(aggregate, term *graph.Array) *graph.Array { return aggregate.Min(term) }},
	"maxabs": {0, func(aggregate, term *graph.Array) *graph.Array {
		a, b := aggregate.Abs(), term.Abs()
		larger := b.Gt(a).Or(b.Eq(a).And(term.Gt(aggregate)))
		return graph.Select(larger.Or(term.Ne(term)), term, aggregate) // a NaN is not equal to itself
	}},
}

// aggregations lists the functions that join the terms of a node's connections, and the fold of each. The aggregate of
// no connections is 0, except the product, which is 1.
var aggregations = []struct{ name, fold string }{
	{"sum", "sum"}, {"product", "product"}, {"max", "max"}, {"min", "min"}, {"maxabs", "maxabs"}, {"mean", "sum"},
}

// AggregationNames lists the aggregations.
func AggregationNames() (names []string) {
	for _, a := range aggregations {
		names = append(names, a.name)
	}
	return names
}

// foldOf returns the name of an aggregation's fold.
func foldOf(aggregation string) string {
	i := slices.IndexFunc(aggregations, func(a struct{ name, fold string }) bool { return a.name == aggregation })
	if i < 0 {
		graph.Throw("genome", "got the aggregation %q, want one of %v", aggregation, AggregationNames())
	}
	return aggregations[i].fold
}

// folds lists the folds that the network's aggregations need, each once.
func (n *Network) folds() (names []string) {
	for _, a := range n.Aggregations {
		if f := foldOf(a); !slices.Contains(names, f) {
			names = append(names, f)
		}
	}
	return names
}

// onlySum reports whether all nodes add up, so that a connection that is not there can have the weight 0.
func (n *Network) onlySum() bool { return slices.Equal(n.Aggregations, []string{"sum"}) }

// aggregate returns nodes' aggregations, given their sums by fold and the number of their connections. which has the
// aggregation's place.
func (n *Network) aggregate(which *graph.Array, sums []*graph.Array, connections *graph.Array) *graph.Array {
	names := n.folds()
	var y *graph.Array
	for i, a := range n.Aggregations {
		x := sums[slices.Index(names, foldOf(a))]
		switch a {
		case "mean":
			x = x.Div(connections.Max(1.))
		case "max", "min":
			x = graph.Select(connections.Gt(0.), x, 0.)
		}
		if y == nil {
			y = x
		} else {
			y = graph.Select(which.Eq(i), x, y)
		}
	}
	return y
}
