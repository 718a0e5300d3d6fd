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

// halfPolicy is a policy with float32 parameters that computes in half precision. Its outputs are float32. Its carry
// has half precision, except sums over many steps.
type halfPolicy struct {
	policy.Policy
	half graph.DType
}

// Start returns the policy's carry for parameters of half precision.
func (c halfPolicy) Start(params any) any { return c.Policy.Start(precision.Cast(c.half, params)) }

// Act returns outputs of float32.
func (c halfPolicy) Act(params, carry any, observation *graph.Array, key random.Key) (any, policy.Output) {
	next, out := c.Policy.Act(precision.Cast(c.half, params), carry, observation, key)
	out.Action = out.Action.Convert(graph.Float32)
	return next, out
}

// Prepare prepares parameters of half precision.
func (c halfPolicy) Prepare(params any) any {
	return prepared(c.Policy, precision.Cast(c.half, params))
}

// PreparesAlike reports true, so that parameters are cast once.
func (c halfPolicy) PreparesAlike() bool { return true }

// half returns the dtype of networks, and whether it has half precision. Precision is not auto.
func (c *Config) half() (graph.DType, bool) {
	switch c.Precision {
	case "bf16":
		return graph.BFloat16, true
	case "f16":
		return graph.Float16, true
	}
	return graph.Float32, false
}

// resolved returns the config with auto precision replaced by the backend's. Its error is a precision that the backend
// does not have.
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
			"--jit=false) stops at the first NaN, and f16 adjusts the scale of its loss by gradients that are NaN")
	}
	return c, nil
}

// lossScale returns the first loss scale: f16 needs a scale that keeps small gradients from vanishing.
func (c *Config) lossScale() train.LossScale {
	if c.Precision != "f16" {
		return train.NoScale{}
	}
	return train.Scaled{LossScale: precision.Dynamic()}
}
