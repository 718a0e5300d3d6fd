package neurobench

import (
	"fmt"

	"xlarun/rollout/evolve"
)

// Scaled is one row of bench scaling: a population of one size, with others in which one thing alone differs.
type Scaled struct {
	Axis string // what differs
	At   string // its value
	// Same: the work per member and step is the same in all rows of this axis, so their costs are compared.
	Same bool

	Population, Episodes, Steps, Devices int
	Policy                               string
	density                              float64 // of blockmlp; 0: another policy
}

// Work is the number of environment steps of all members and episodes in a run.
func (s Scaled) Work() float64 {
	return float64(s.Population) * float64(s.Episodes) * float64(s.Steps)
}

// Experiment is what it plays.
func (s Scaled) Experiment(tune string) evolve.Config {
	c := Experiment("CartPole-v1", s.Policy, s.Population, s.Steps, Options{s.Devices, tune})
	c.Episodes = s.Episodes
	if s.density > 0 {
		c = c.With("policy.density", s.density)
	}
	return c
}

// Scaling lists the rows, for a machine of so many devices. Episodes are the shorter the larger the population is, within limits,
// so that a row takes a second or less; quick leaves every other row out.
func Scaling(devices int, quick bool) (rows []Scaled) {
	const population, width = 1024, 32
	add := func(s Scaled) {
		if s.Policy == "" {
			s.Policy = fmt.Sprintf("mlp:%d,%d", width, width)
		}
		if s.Population == 0 {
			s.Population = population
		}
		s.Episodes, s.Devices = max(1, s.Episodes), max(s.Devices, 0)
		if s.Devices == 0 {
			s.Devices = devices
		}
		if s.Steps == 0 {
			s.Steps = 200
		}
		rows = append(rows, s)
	}
	every := func(list []int) (out []int) {
		for i, n := range list {
			if !quick || i%2 == 0 {
				out = append(out, n)
			}
		}
		return out
	}
	for _, n := range every([]int{256, 1024, 4096, 16384, 65536, 262144}) {
		steps := 200
		if n > 16384 { // the same work for a step, fewer of them
			steps = 50
		}
		add(Scaled{Axis: "population", At: fmt.Sprint(n), Same: true, Population: n, Steps: steps})
	}
	for _, n := range every([]int{1, 4, 16, 64, 256}) {
		add(Scaled{Axis: "episodes", At: fmt.Sprint(n), Population: 256, Episodes: n, Steps: 100})
	}
	for _, n := range every([]int{16, 32, 64, 128, 256, 512, 1024}) {
		add(Scaled{Axis: "width", At: fmt.Sprint(n), Population: max(16, min(population, 32*population/n)), Policy: fmt.Sprintf("mlp:%d,%d", n, n), Steps: 50})
	}
	for _, percent := range every([]int{100, 50, 25, 12, 6}) {
		add(Scaled{Axis: "density", At: fmt.Sprintf("%d %%", percent), Population: 128, Policy: "blockmlp:512,512", density: float64(percent) / 100, Steps: 50})
	}
	for n := 1; n <= devices; n *= 2 {
		add(Scaled{Axis: "devices", At: fmt.Sprint(n), Devices: n})
	}
	return rows
}
