package main

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/qd"
	"xlarun/rollout/settings"
)

func init() {
	qd.MustRegisterEmitter("fifth", &Fifth{Sigma: settings.Num(.1), Change: settings.Num(.2)})
}

// Fifth makes each child of one elite, with normal noise. Its standard deviation, the state, rises while more than a
// fifth of the children are accepted by the archive, and falls otherwise: the 1/5 success rule of Rechenberg (1973).
type Fifth struct {
	Sigma  settings.Number `set:"sigma" above:"0" help:"first standard deviation of the noise"`
	Change settings.Number `set:"change" min:"0" help:"how fast the standard deviation follows the successes"`
}

// Traits are none.
func (*Fifth) Traits() (t qd.EmitterTraits) { return t }

// Init returns the standard deviation, f32[].
func (f *Fifth) Init(_ *graph.Array, _ int, _ qd.Archive) any { return f.Sigma.Array() }

// Ask makes a child.
func (*Fifth) Ask(key random.Key, number *graph.Array, sigma any, archive qd.Archive) qd.Child {
	parent, noise := random.Split2(random.FoldIn(key, number))
	elite := archive.Draw(parent)
	return qd.Child{Genome: elite.Add(random.Normal(noise, elite.Shape()).Mul(sigma.(*graph.Array))),
		Draw: graph.None{}}
}

// Tell changes the standard deviation. It stays positive and finite.
func (f *Fifth) Tell(_ random.Key, sigma any, _ qd.Archive, _ qd.Child, _ qd.Batch, c qd.Change) any {
	successes := c.Accepted.Convert(graph.Float32).Mean()
	factor := successes.Sub(.2).Mul(f.Change.Array()).Exp()
	return graph.Clamp(1e-6, sigma.(*graph.Array).Mul(factor), float32(math.MaxFloat32))
}
