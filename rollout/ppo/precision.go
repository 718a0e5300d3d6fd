package ppo

import (
	"xlarun/graph"
	"xlarun/graph/precision"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
	"xlarun/rollout/train"
	"xlarun/xlabridge"
)

// halfPolicy is a policy that computes in half precision with parameters of float32. Its outputs are float32. What it
// carries is of half precision, except sums over many steps.
type halfPolicy struct {
	policy.Policy
	half graph.DType
}

// Start is the policy's, of parameters of half precision.
func (c halfPolicy) Start(params any) any { return c.Policy.Start(precision.Cast(c.half, params)) }

// Act answers in float32.
func (c halfPolicy) Act(params, carry any, observation *graph.Array, key random.Key) (any, policy.Output) {
	next, out := c.Policy.Act(precision.Cast(c.half, params), carry, observation, key)
	out.Action = graph.Convert(out.Action, graph.Float32)
	return next, out
}

// Prepare is the policy's, in half precision.
func (c halfPolicy) Prepare(params any) any {
	return prepared(c.Policy, precision.Cast(c.half, params))
}

// PreparesAlike: parameters are cast once.
func (c halfPolicy) PreparesAlike() bool { return true }

// half is what networks compute in where it is not float32; auto is resolved by resolved.
func (c *Config) half() (graph.DType, bool) {
	switch c.Precision {
	case "bf16":
		return graph.BFloat16, true
	case "f16":
		return graph.Float16, true
	}
	return graph.Float32, false
}

// resolved has the precision that a backend is to compute in, or refuses one that it has not.
func (c Config) resolved(b xlabridge.Backend) (Config, error) {
	if c.Precision == "auto" {
		c.Precision = "f32"
		if plan.MachineOf(b, 1).Accelerator {
			c.Precision = "bf16"
		}
	}
	if c.Precision == "f16" && b.Backend() == "tpu" {
		return c, settings.Wrong("precision", c.Precision, "bf16 or f32: the backend %s does not compute in f16",
			b.Backend())
	}
	if c.Precision == "f16" && b.Backend() == (&xlabridge.Reference{}).Backend() {
		return c, settings.Wrong("precision", c.Precision, "bf16 or f32: the interpreter (--backend reference, "+
			"--jit=false) stops at the first NaN, and f16 finds the scale of its losses by gradients that are none")
	}
	return c, nil
}

// lossScale returns the first loss scale: in f16 one that keeps small gradients from vanishing.
func (c *Config) lossScale() train.LossScale {
	if c.Precision != "f16" {
		return train.NoScale{}
	}
	return train.Scaled{LossScale: precision.Dynamic()}
}
