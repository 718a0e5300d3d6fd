package policy

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("ctrnn", &CTRNNSettings{Memory: Memory{16}, DT: settings.Num(.1), TauMin: settings.Num(.1),
		TauMax: settings.Num(10)})
}

// CTRNNSettings are the settings of the policy "ctrnn". Times are in seconds of the network's own time.
type CTRNNSettings struct {
	Memory
	DT     settings.Number `set:"dt" above:"0" help:"seconds of the network's time per step of the environment"`
	TauMin settings.Number `set:"tau-min" above:"0" help:"smallest time constant of a unit, in seconds; at least dt"`
	TauMax settings.Number `set:"tau-max" above:"0" help:"largest time constant of a unit, in seconds"`
}

// Make makes a CTRNN.
func (s *CTRNNSettings) Make(observation envs.Space, outputs int) (Policy, error) {
	if err := checked(s); err != nil {
		return nil, err
	}
	switch {
	case s.DT.Value > s.TauMin.Value:
		return nil, settings.Wrong("policy.dt", s.DT.Value, "at most policy.tau-min, %g: a step that is longer than "+
			"a time constant overshoots", s.TauMin.Value)
	case s.TauMax.Value < s.TauMin.Value:
		return nil, settings.Wrong("policy.tau-max", s.TauMax.Value, "at least policy.tau-min, %g", s.TauMin.Value)
	}
	inputs, err := FlatSize(observation)
	return Erase(&CTRNN{CTRNNSettings: *s, observation: observation, inputs: inputs, outputs: outputs}), err
}

// CTRNN is a continuous-time recurrent network (Beer, "On the dynamics of small continuous-time recurrent neural
// networks", 1995), followed by a linear layer. Unit i has a state y, a firing rate and a learned time constant tau:
//
//	tau[i] dy[i]/dt = -y[i] + sum over j of Wh[j,i]*sigmoid(y[j] + Theta[j]) + sum over k of Wx[k,i]*x[k]
//
// A step of the environment is one step of Euler's method, of dt seconds. The linear layer reads the rates
// sigmoid(y + Theta). Parameters are Recurrent[CTRNNCell]; the carry is the states, f32[units], zero at first. Discrete
// observations are one-hot inputs, boxes are flattened. With parameters of half precision, only the matrix products are
// computed in it: the small changes of states would be rounded away.
type CTRNN struct {
	CTRNNSettings
	observation     envs.Space
	inputs, outputs int
}

// CTRNNCell holds the parameters of the units of a CTRNN.
type CTRNNCell struct {
	Wx    *graph.Array // f32[in, units]
	Wh    *graph.Array // f32[units, units]
	Theta *graph.Array // f32[units]
	Time  *graph.Array // f32[units], unbounded: tau = min*(max/min)^sigmoid(Time) for tau-min and tau-max
}

// ctrnnCell holds the same units as Prepare lays them out.
type ctrnnCell struct {
	Wx, Wh      Weight
	Theta, Rate *graph.Array // Rate, f32[units], is dt/tau, above 0 and at most 1
}

// Traits say that it has another form for members with weights of their own.
func (c *CTRNN) Traits() (t Traits[Recurrent[CTRNNCell], *graph.Array]) {
	t.Prepared, t.Describe = FormOf(c.Prepare, c.PrepareShared, c.start, c.act), c.Describe
	return t
}

// Describe returns the step and the range of the time constants, in seconds.
func (c *CTRNN) Describe(Recurrent[CTRNNCell]) (map[string]any, error) {
	return map[string]any{"dt": c.DT.Value, "tau": []float64{c.TauMin.Value, c.TauMax.Value}}, nil
}

// Init draws weights from the normal distribution of variance 1/in, and Time with variance 1. Theta is zero.
func (c *CTRNN) Init(key random.Key) Recurrent[CTRNNCell] {
	return newRecurrent(key, c.Units, c.outputs, func(key random.Key) CTRNNCell {
		k := random.SplitN(key, 3)
		units := graph.ShapeOf(graph.Float32, c.Units)
		return CTRNNCell{Wx: fanIn(k[0], graph.ShapeOf(graph.Float32, c.inputs, c.Units)),
			Wh:    fanIn(k[1], graph.ShapeOf(graph.Float32, c.Units, c.Units)),
			Theta: graph.Zeros(units), Time: random.Normal(k[2], units)}
	})
}

// withRates returns a cell with its rates.
func (c *CTRNN) withRates(lay laying, p CTRNNCell) ctrnnCell {
	least, span := c.TauMin.Array(), c.TauMax.Array().Div(c.TauMin.Array()).Log()
	tau := least.Mul(span.Mul(nn.Sigmoid(single(p.Time))).Exp())
	return ctrnnCell{lay.weight(p.Wx), lay.weight(p.Wh), single(p.Theta), c.DT.Array().Div(tau)}
}

// Prepare computes the rates, pads layers to whole vector registers and transposes a narrow last layer.
func (c *CTRNN) Prepare(p Recurrent[CTRNNCell]) ready[ctrnnCell] { return c.prepare(laying{}, p) }

// PrepareShared computes the rates.
func (c *CTRNN) PrepareShared(s Shared) ready[ctrnnCell] {
	return c.prepare(layingOf(s), s.Params.(Recurrent[CTRNNCell]))
}

func (c *CTRNN) prepare(lay laying, p Recurrent[CTRNNCell]) ready[ctrnnCell] {
	cell, pad := c.withRates(lay, p.Cell), lay.fill(c.Units)
	cell.Wx.W, cell.Wh.W = padded(cell.Wx.W, 0, pad), padded(cell.Wh.W, pad, pad)
	cell.Theta, cell.Rate = padded(cell.Theta, pad), padded(cell.Rate, pad)
	return ready[ctrnnCell]{cell, lay.out(p.Out)}
}

// plain returns parameters with the rates, but as they lie.
func (c *CTRNN) plain(p Recurrent[CTRNNCell]) ready[ctrnnCell] {
	return ready[ctrnnCell]{c.withRates(laying{}, p.Cell), laying{}.layer(p.Out)}
}

// Start returns zeros: units at rest.
func (c *CTRNN) Start(p Recurrent[CTRNNCell]) *graph.Array { return c.start(c.plain(p)) }

func (c *CTRNN) start(p ready[ctrnnCell]) *graph.Array { return graph.ZerosLike(p.Cell.Theta) }

// Act moves the states by dt seconds, and computes the outputs from the rates after that.
func (c *CTRNN) Act(p Recurrent[CTRNNCell], y, observation *graph.Array, key random.Key) (*graph.Array, Output) {
	return c.act(c.plain(p), y, observation, key)
}

func (c *CTRNN) act(p ready[ctrnnCell], y, observation *graph.Array, _ random.Key) (*graph.Array, Output) {
	cell := p.Cell
	rates := func(y *graph.Array) *graph.Array { return nn.Sigmoid(y.Add(cell.Theta)) }
	in := single(cell.Wh.Times(rates(y)).Add(cell.Wx.Times(Flat(c.observation, observation))))
	y = y.Add(cell.Rate.Mul(in.Sub(y)))
	return y, Output{Action: p.Out.Apply(rates(y))}
}
