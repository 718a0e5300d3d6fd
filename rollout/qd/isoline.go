package qd

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegisterEmitter("isoline", &IsoLine{IsoSigma: settings.Num(.01), LineSigma: settings.Num(.2)})
}

// IsoLine is the variation of Vassiliades and Mouret, "Discovering the elite hypervolume by leveraging interspecies
// correlation" (2018): a child of the elites x and y, drawn uniformly, is x + σ₁·N(0, I) + σ₂·(y - x)·N(0, 1).
type IsoLine struct {
	IsoSigma  settings.Number `set:"iso-sigma" min:"0" help:"standard deviation of the noise of each number"`
	LineSigma settings.Number `set:"line-sigma" min:"0" help:"standard deviation of the step along the line of two elites, in their distance"`
	Bounds    []float64       `set:"bounds" zero:"none" wants:"the least and the greatest number of a genome: LOW,HIGH" help:"least and greatest number of a genome: others are clipped"`
}

// Traits say that bounds are checked.
func (e *IsoLine) Traits() EmitterTraits { return EmitterTraits{Check: e.Check} }

// Check refuses bounds that are not two numbers in order.
func (e *IsoLine) Check(int) error {
	if n := len(e.Bounds); n == 0 || n == 2 && e.Bounds[0] <= e.Bounds[1] {
		return nil
	}
	f, _ := settings.Lookup(e, "bounds")
	return settings.Wrong("emitter.bounds", f.Text(), "%s", f.Wants)
}

// Init has no state.
func (*IsoLine) Init(*graph.Array, int, Archive) any { return graph.None{} }

// Ask makes a child of two elites.
func (e *IsoLine) Ask(key random.Key, number *graph.Array, _ any, archive Archive) Child {
	return Child{e.child(random.FoldIn(key, number), archive), graph.None{}}
}

func (e *IsoLine) child(key random.Key, archive Archive) *graph.Array {
	keys := random.SplitN(key, 4)
	x, y := archive.Draw(keys[0]), archive.Draw(keys[1])
	iso := random.Normal(keys[2], x.Shape()).Mul(e.IsoSigma.Array())
	line := random.Normal(keys[3], graph.ShapeOf(graph.Float32)).Mul(e.LineSigma.Array())
	child := x.Add(iso).Add(y.Sub(x).Mul(line))
	if len(e.Bounds) == 2 {
		child = graph.Clamp(float32(e.Bounds[0]), child, float32(e.Bounds[1]))
	}
	return child
}

// Tell has nothing to learn.
func (*IsoLine) Tell(_ random.Key, state any, _ Archive, _ Child, _ Batch, _ Change) any {
	return state
}
