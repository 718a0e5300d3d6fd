package neurobench

import (
	"cmp"
	"fmt"

	"xlarun/internal/quantity"
	"xlarun/rollout/evolve"
)

// Scaled is one row of bench scaling: a population of one size, with others in which one thing alone differs.
type Scaled struct {
	Axis                        string // what differs
	At                          string // its value
	Env                         string
	Population, Episodes, Steps int
	Devices                     int // 0: all
	Policy                      string
	density                     float64 // of blockmlp; 0: another policy
}

// Work is the number of environment steps of all members and episodes in a run.
func (s Scaled) Work() float64 {
	return float64(s.Population) * float64(s.Episodes) * float64(s.Steps)
}

// Experiment is what it plays.
func (s Scaled) Experiment(tune string, devices int) evolve.Config {
	if s.Devices > 0 {
		devices = min(s.Devices, devices)
	}
	c := Experiment(s.Env, s.Policy, s.Population, s.Steps, Options{devices, tune})
	c.Episodes = s.Episodes
	if s.density > 0 {
		c = c.With("policy.density", s.density)
	}
	return c
}

// What says what the row plays.
func (s Scaled) What() string {
	return fmt.Sprintf("%s, %d x %s, %s of %d steps", s.Env, s.Population, s.Policy,
		quantity.Count(s.Episodes, "episode", "episodes"), s.Steps)
}

// Scaling returns the rows. Larger populations play shorter episodes, so that a row takes a second or less.
func Scaling() (rows []Scaled) {
	const population, width = 1024, 32
	add := func(s Scaled) {
		if s.Policy == "" {
			s.Policy = fmt.Sprintf("mlp:%d,%d", width, width)
		}
		if s.Population == 0 {
			s.Population = population
		}
		s.Env = cmp.Or(s.Env, "CartPole-v1")
		s.Episodes = max(1, s.Episodes)
		if s.Steps == 0 {
			s.Steps = 200
		}
		rows = append(rows, s)
	}
	for _, n := range []int{256, 1024, 4096, 16384, 65536, 262144} {
		steps := 200
		if n > 16384 { // the same work for a step, fewer of them
			steps = 50
		}
		add(Scaled{Axis: "population", At: fmt.Sprint(n), Population: n, Steps: steps})
	}
	for _, n := range []int{1, 4, 16, 64, 256} {
		add(Scaled{Axis: "episodes", At: fmt.Sprint(n), Population: 256, Episodes: n, Steps: 100})
	}
	for _, level := range []struct{ name, env, policy string }{
		{"l0", "Forage-L0-v1", "mlp:32,32"}, {"l1", "Forage-L1-v1", "mlp:32,32"}, {"l2", "Forage-L2-v1", "gru:16"},
		{"l0-spiking", "Forage-L0-v1", "spiking:32,16"},
	} {
		for _, episodes := range []int{1, 16} {
			add(Scaled{Axis: "level", At: fmt.Sprintf("%s-%d", level.name, episodes), Env: level.env,
				Policy: level.policy, Population: 256, Episodes: episodes, Steps: 100})
		}
	}
	for _, n := range []int{16, 32, 64, 128, 256, 512, 1024} {
		add(Scaled{Axis: "width", At: fmt.Sprint(n), Population: max(16, min(population, 32*population/n)),
			Policy: fmt.Sprintf("mlp:%d,%d", n, n), Steps: 50})
	}
	for _, percent := range []int{100, 50, 25, 12, 6} {
		add(Scaled{Axis: "density", At: fmt.Sprint(percent), Population: 128, Policy: "blockmlp:512,512",
			density: float64(percent) / 100, Steps: 50})
	}
	for _, n := range []int{1, 2, 4, 8} { // at most as many as there are
		add(Scaled{Axis: "devices", At: fmt.Sprint(n), Devices: n})
	}
	return rows
}
