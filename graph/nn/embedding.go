package nn

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/precision"
	"xlarun/graph/random"
)

// Embedding maps integers to vectors by a table.
type Embedding struct {
	Table     *graph.Array // [n, width]
	Precision precision.Policy
}

// NewEmbedding makes a table of n vectors of the given width. Options: Weights (default normal, of variance 1/width),
// Precision. The table is drawn from key.
func NewEmbedding(key random.Key, n, width int, opts ...Option) Embedding {
	const op = "nn.NewEmbedding"
	wantSize(op, "n", n)
	wantSize(op, "width", width)
	table := Option{"Weights", func(c *config) { c.weights = Normal(1 / math.Sqrt(float64(width))) }}
	c := readOptions(op, append([]Option{table}, opts...), "Weights", "Precision")
	return Embedding{Table: c.weights(key, c.shape(n, width)), Precision: c.precision}
}

// Apply maps i, integers of any dims from 0 to n-1, to [dims…, width]. Numbers out of range give NaN.
func (e Embedding) Apply(i *graph.Array) *graph.Array {
	if !i.DType().IsInt() {
		graph.Throw("nn.Embedding", "got %s, want integers", i.Shape())
	}
	return toOutput(e.Precision, toCompute(e.Precision, graph.Take(e.Table, i, 0, graph.FillOrDrop)))
}

// Attend is the products of x […, width] with every vector, […, n]: the logits of a model with tied embeddings.
func (e Embedding) Attend(x *graph.Array) *graph.Array {
	wantLast("nn.Embedding.Attend", "x", x, e.Table.Dim(1))
	p := e.Precision
	return toOutput(p, toCompute(p, x).Dot(toCompute(p, e.Table).Transpose(1, 0)))
}
