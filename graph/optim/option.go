package optim

import (
	"slices"
	"strings"

	"xlarun/graph"
)

// Option sets a hyper-parameter of an optimizer; each optimizer says which ones it takes. Values are numbers or
// scalar arrays.
type Option struct {
	name string
	set  func(c *config, optimizer string)
}

// config holds every hyper-parameter; optimizers use those they know.
type config struct {
	b1, b2, eps, epsRoot, decay, momentum, weightDecay, maxSpeed, initial any

	factoredFrom int

	nesterov, centered, epsOutside, biasCorrection bool
	mask                                           Mask
	momentDType                                    graph.DType
}

// configure applies opts to the defaults; allowed are the names that the optimizer takes.
func configure(optimizer string, defaults config, opts []Option, allowed ...string) config {
	for _, o := range opts {
		if !slices.Contains(allowed, o.name) {
			refuse("%s: it has no option %s, want one of %s", optimizer, o.name, strings.Join(allowed, ", "))
		}
		o.set(&defaults, optimizer)
	}
	if defaults.nesterov && defaults.momentum == nil && slices.Contains(allowed, "Momentum") {
		refuse("%s: got Nesterov without Momentum: give the momentum too", optimizer)
	}
	return defaults
}

// decayed is the weight decay that the options ask for.
func (c config) decayed() Transform {
	if c.weightDecay == nil {
		return Chain()
	}
	return AddDecayedWeights(c.weightDecay, c.mask)
}

func valueOption(name string, v any, field func(*config) *any) Option {
	return Option{name, func(c *config, optimizer string) { *field(c) = number(optimizer+": "+name, v) }}
}

func flagOption(name string, set func(*config)) Option {
	return Option{name, func(c *config, _ string) { set(c) }}
}

// B1 is the decay rate of the gradients' average (Adam, Lion), default 0.9.
func B1(v any) Option { return valueOption("B1", v, func(c *config) *any { return &c.b1 }) }

// B2 is the decay rate of the squared gradients' average (Adam, default 0.999) or of the momentum (Lion, default
// 0.99).
func B2(v any) Option { return valueOption("B2", v, func(c *config) *any { return &c.b2 }) }

// Eps keeps denominators away from zero, default 1e-8.
func Eps(v any) Option { return valueOption("Eps", v, func(c *config) *any { return &c.eps }) }

// EpsRoot is added under Adam's square root, default 0; a small value keeps derivatives through the step finite.
func EpsRoot(v any) Option {
	return valueOption("EpsRoot", v, func(c *config) *any { return &c.epsRoot })
}

// Decay is the decay rate of RMSProp's averages, default 0.9.
func Decay(v any) Option { return valueOption("Decay", v, func(c *config) *any { return &c.decay }) }

// Momentum is the decay rate of the trace of past updates (SGD and RMSProp: none by default; ClipUp: 0.9).
func Momentum(v any) Option {
	return valueOption("Momentum", v, func(c *config) *any { return &c.momentum })
}

// WeightDecay is the decoupled decay of the parameters (AdamW, default 1e-4; Lion, default 1e-3), times the learning
// rate.
func WeightDecay(v any) Option {
	return valueOption("WeightDecay", v, func(c *config) *any { return &c.weightDecay })
}

// MaxSpeed bounds the norm of ClipUp's step, default twice the learning rate.
func MaxSpeed(v any) Option {
	return valueOption("MaxSpeed", v, func(c *config) *any { return &c.maxSpeed })
}

// Initial is what an average or an estimate starts from (Adagrad, Yogi, Prodigy).
func Initial(v any) Option {
	return valueOption("Initial", v, func(c *config) *any { return &c.initial })
}

// FactoredFrom is the size that both of the two largest axes of a leaf need for Adafactor to keep only means along
// them, default 128.
func FactoredFrom(n int) Option {
	return flagOption("FactoredFrom", func(c *config) { c.factoredFrom = n })
}

// Nesterov looks one step of momentum ahead (SGD, RMSProp, Adam).
func Nesterov() Option { return flagOption("Nesterov", func(c *config) { c.nesterov = true }) }

// Centered makes RMSProp divide by the standard deviation of the gradients instead of their root mean square.
func Centered() Option { return flagOption("Centered", func(c *config) { c.centered = true }) }

// EpsOutsideRoot adds RMSProp's Eps to the root, as PyTorch does, instead of under it.
func EpsOutsideRoot() Option {
	return flagOption("EpsOutsideRoot", func(c *config) { c.epsOutside = true })
}

// BiasCorrection makes up for RMSProp's averages starting from zero.
func BiasCorrection() Option {
	return flagOption("BiasCorrection", func(c *config) { c.biasCorrection = true })
}

// DecayMask says which parameters the weight decay concerns, default all.
func DecayMask(m Mask) Option { return flagOption("DecayMask", func(c *config) { c.mask = m }) }

// MomentDType keeps the first moment or the momentum in this dtype instead of the parameter's.
func MomentDType(d graph.DType) Option {
	return flagOption("MomentDType", func(c *config) { c.momentDType = d })
}
