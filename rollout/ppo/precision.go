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

// Traits say that parameters of half precision are prepared, so that they are cast once, and have the policy's reports.
func (c halfPolicy) Traits() policy.Traits[any, any] {
	t := policy.Traits[any, any]{PreparesAlike: true, Prepared: &policy.Form{Prepare: func(params any) any {
		return prepared(c.Policy, precision.Cast(c.half, params))
	}}}
	if inner := c.Policy.Traits(); inner.Report != nil {
		t.Reports, t.Report = inner.Reports, func(carry any) *graph.Array {
			return inner.Report(precision.Cast(graph.Float32, carry))
		}
	}
	return t
}

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

// terms returns the ProductTerms of the actor for one observation.
func (g *program) terms() (float64, error) {
	return plan.ProductTerms(func() []any {
		return []any{g.actor.Init(random.New(0)), graph.Zeros(g.play.Env.Spec().Observation.Shape()), random.New(0)}
	}, func(in []any) any {
		_, out := g.actor.Act(in[0], g.actor.Start(in[0]), in[1].(*graph.Array), in[2].(random.Key))
		return out.Action
	})
}

// resolved returns the config with auto precision replaced by what it stands for on the backend, for the program in
// float32. Its error is a precision that the backend does not have.
func (c Config) resolved(b xlabridge.Backend, single func() (*program, error)) (Config, error) {
	if c.Precision == plan.PrecisionAuto {
		g, err := single()
		if err != nil {
			return c, err
		}
		terms, err := g.terms()
		if err != nil {
			return c, err
		}
		c.Precision = plan.Precision(b, terms)
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
