package auxiliary

import (
	"xlarun/graph"
	"xlarun/rollout/settings"
)

func init() { MustRegister("kl", func() Loss { return &KL{Weight: settings.Num(.2)} }) }

// KL is a penalty on the divergence from the policy of the rollout (Schulman et al., "Proximal policy optimization
// algorithms", 2017, section 4, with a constant weight), estimated by (r - 1) - log r of the ratio r of probabilities.
type KL struct {
	Weight settings.Number `set:"weight" min:"0" help:"weight of the divergence"`
}

// Compute returns the penalty.
func (k *KL) Compute(t Transition) *graph.Array {
	logRatio := t.LogProb.Sub(t.OldLogProb)
	return k.Weight.Array().Mul(graph.Expm1(logRatio).Sub(logRatio))
}

// Traits are none.
func (*KL) Traits() (t Traits) { return t }
