package study

// Random chooses each parameter by itself.
type Random struct{}

// Name implements Sampler.
func (Random) Name() string { return "random" }

func (Random) sight() sight { return sightNone }

// Relative implements Sampler.
func (Random) Relative(*View) (map[string]float64, error) { return nil, nil }

// Independent implements Sampler.
func (Random) Independent(v *View, name string, d Distribution) (float64, error) {
	return d.random(v.Rand(name)), nil
}
