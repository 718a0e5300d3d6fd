package study

// Random chooses each parameter at random, independently of the others.
type Random struct{}

// Name implements Sampler.
func (Random) Name() string { return "random" }

func (Random) needs() dependency { return needsNothing }

// Relative implements Sampler.
func (Random) Relative(*View) (map[string]float64, error) { return nil, nil }

// Independent implements Sampler.
func (Random) Independent(v *View, name string, d Distribution) (float64, error) {
	return d.random(v.Rand(name)), nil
}
