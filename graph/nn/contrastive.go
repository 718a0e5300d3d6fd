package nn

import (
	"math"

	"xlarun/graph"
)

// NTXent is the normalized temperature-scaled cross entropy of embeddings [n, width] with integer labels [n]: a
// scalar (Chen et al., "A simple framework for contrastive learning of visual representations", 2020). Embeddings of
// one label are pulled together; each is compared with those of other labels. The temperature is usually 0.07. Where no
// two have one label, and of 0 rows, the loss is 0; optax.losses.ntxent's is NaN.
func NTXent(embeddings, labels *graph.Array, temperature float64) *graph.Array {
	const op = "nn.NTXent"
	if embeddings.Rank() != 2 || labels.Rank() != 1 || labels.Dim(0) != embeddings.Dim(0) {
		graph.Throw(op, "got embeddings %s and labels %s, want [n, width] and [n]", embeddings.Shape(), labels.Shape())
	}
	x := atLeastFloat32(embeddings)
	if labels.Dim(0) == 0 {
		return graph.Zeros(graph.ShapeOf(x.DType()))
	}
	epsilon := math.Ldexp(1, -23)
	if x.DType() == graph.Float64 {
		epsilon = math.Ldexp(1, -52)
	}
	unit := x.Div(safeNorm(x, epsilon).ExpandDims(-1))
	score := unit.Dot(graph.MatrixTranspose(unit)).Div(temperature)
	same := labels.ExpandDims(1).Eq(labels.ExpandDims(0))
	pair := same.And(graph.Eye(graph.Bool, labels.Dim(0)).Not())
	itself := graph.Eye(x.DType(), labels.Dim(0)).Mul(4 / temperature)
	top := graph.StopGradient(score.Sub(itself).ReduceMax(-1))
	score = score.Sub(top.ExpandDims(-1))
	others := graph.Select(same, 0, score.Exp()).Sum(-1).ExpandDims(-1)
	loss := others.Add(score.Exp()).Log().Sub(score)
	return graph.Select(pair, loss, 0).Sum().Div(pair.Convert(x.DType()).Sum().Max(1))
}

// TripletMargin is max(0, |a - p| - |a - n| + margin) over the last axis: the anchor a is to be nearer to the
// positive example p than to the negative example n by the margin (Schroff et al., "FaceNet", 2015). Leading axes
// stay. Squared distances are larger by 1e-6, so that the derivative at 0 is finite.
func TripletMargin(anchor, positive, negative *graph.Array, margin float64) *graph.Array {
	distance := func(other *graph.Array) *graph.Array {
		a, o := wantSame("nn.TripletMargin", anchor, other)
		return a.Sub(o).Square().Sum(-1).Add(1e-6).Sqrt()
	}
	return distance(positive).Sub(distance(negative)).Add(margin).Max(0)
}
