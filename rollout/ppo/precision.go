package ppo

import (
	"xlarun/graph"
	"xlarun/graph/precision"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// computing is a policy that computes in half precision with parameters of float32. What it puts out is float32: logits, and all that is made of
// them. What it remembers is of half precision, but what sums up over many steps.
type computing struct {
	policy.Policy
	half graph.DType
}

// Start is the policy's, of parameters of half precision.
func (c computing) Start(params any) any { return c.Policy.Start(precision.Cast(c.half, params)) }

// Act answers in float32.
func (c computing) Act(params, carry any, observation *graph.Array, key random.Key) (any, policy.Output) {
	next, out := c.Policy.Act(precision.Cast(c.half, params), carry, observation, key)
	out.Action = graph.Convert(out.Action, graph.Float32)
	return next, out
}

// Prepare is the policy's, in half precision.
func (c computing) Prepare(params any) any { return prepared(c.Policy, precision.Cast(c.half, params)) }

// PreparesAlike: parameters are cast once.
func (c computing) PreparesAlike() bool { return true }

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
		return c, settings.Wrong("precision", c.Precision, "bf16 or f32: the backend %s does not compute in f16", b.Backend())
	}
	if c.Precision == "f16" && b.Backend() == (&xlabridge.Reference{}).Backend() {
		return c, settings.Wrong("precision", c.Precision, "bf16 or f32: the interpreter (--backend reference, --jit=false) stops at the first NaN, and f16 finds the scale of its losses by gradients that are none")
	}
	return c, nil
}

// lossScale is the first one, by which losses are multiplied so that small gradients do not vanish in f16; nil: it has none.
func (c *Config) lossScale() *precision.LossScale {
	if c.Precision != "f16" {
		return nil
	}
	s := precision.Dynamic()
	return &s
}

// scaleOf is a loss scale as a metric.
func scaleOf(s *precision.LossScale) *graph.Array {
	if s == nil {
		return graph.Scalar(1)
	}
	return s.Value
}
