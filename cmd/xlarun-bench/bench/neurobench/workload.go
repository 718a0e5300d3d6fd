// Package neurobench holds the workloads of xlarun bench neuro and bench scaling: populations that play their episodes,
// and whole generations on a function.
package neurobench

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"xlarun/rollout/evolve"
	"xlarun/xlabridge"
)

// Workload is one comparison.
type Workload struct {
	Name, What string
	Peer       string
	PeerArgs   []string // of neuro_jax.py
	// Environment steps of all members in a run; without an environment, evaluations of members.
	Work float64
	Open func(ctx context.Context, b xlabridge.Backend, o Options) (*Runner, error)
}

// Options say how a workload of ours is run.
type Options struct {
	Devices int
	Tune    string // as for evolve: a plan.Tune…
}

// Size is the size of a population and of its episodes.
type Size struct {
	Population int
	Hidden     []int
	Steps      int
}

// String is as ReadSize reads it: "614x40,40x271".
func (s Size) String() string {
	return fmt.Sprintf("%dx%sx%d", s.Population, s.widths(), s.Steps)
}

func (s Size) widths() string {
	var words []string
	for _, n := range s.Hidden {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ",")
}

// ReadSize reads MEMBERSxHIDDEN,…xSTEPS.
func ReadSize(text string) (Size, error) {
	var s Size
	number := func(text string, to *int) bool {
		n, err := strconv.Atoi(text)
		*to = n
		return err == nil && n > 0
	}
	parts := strings.Split(text, "x")
	ok := len(parts) == 3 && number(parts[0], &s.Population) && number(parts[2], &s.Steps)
	for _, width := range strings.Split(parts[min(1, len(parts)-1)], ",") {
		s.Hidden = append(s.Hidden, 0)
		ok = ok && number(width, &s.Hidden[len(s.Hidden)-1])
	}
	if !ok {
		return Size{}, fmt.Errorf("got %q, wants members, widths of hidden layers and steps, as 614x40,40x271", text)
	}
	return s, nil
}

// SizeOn is the size of a day: another one each day, of primes, which are no multiples of anything.
func SizeOn(day time.Time) Size {
	h := fnv.New64a()
	h.Write([]byte(day.Format(time.DateOnly)))
	x := h.Sum64()
	draw := func(low, high int) int {
		var primes []int
		for n := low; n <= high; n++ {
			if isPrime(n) {
				primes = append(primes, n)
			}
		}
		x = x*6364136223846793005 + 1442695040888963407
		return primes[int(x>>33)%len(primes)]
	}
	return Size{draw(300, 1100), []int{draw(17, 97), draw(17, 97)}, draw(150, 450)}
}

func isPrime(n int) bool {
	for d := 2; d*d <= n; d++ {
		if n%d == 0 {
			return false
		}
	}
	return n > 1
}

// All lists the workloads, those of classic control in a size.
func All(s Size) []Workload {
	spec := "mlp:" + s.widths()
	var all []Workload
	for _, e := range []struct{ name, env, gymnax string }{
		{"cartpole", "CartPole-v1", "CartPole-v1"}, {"acrobot", "Acrobot-v1", "Acrobot-v1"},
		{"mountaincar", "MountainCarContinuous-v0", "MountainCarContinuous-v0"},
		{"pendulum", "Pendulum-v1", "Pendulum-v1"},
	} {
		all = append(all, play(e.name, "jax", e.env, spec, s.Population, s.Steps, "play", e.gymnax))
	}
	breakout := play("breakout", "gymnax, flax", "Breakout-MinAtar-v1", "cnn:16", 512, 500)
	breakout.PeerArgs = []string{"breakout", "512", "500", "16", "32"}
	wide := Generations("cmaes", 1000, 256)
	wide.Name = "cmaes-1000"
	return append(all,
		Generations("cmaes", 100, 256), wide, Generations("openes", 10000, 1024), breakout,
		play("gru", "jax", "Forage-L2-v1", "gru:32", 512, 500, "play", "Forage-L2-v1"),
		play("forage", "jax", "Forage-L1-v1", "mlp:32,32", 1024, 200, "play", "Forage-L1-v1"))
}

// play is a population that plays its episodes, without sampling and learning. Population, steps and policy are
// appended to peerArgs.
func play(name, peer, env, policy string, population, steps int, peerArgs ...string) Workload {
	return Workload{
		Name: name, What: fmt.Sprintf("%s, %d x %s, %d steps", env, population, policy, steps), Peer: peer,
		PeerArgs: append(peerArgs, strconv.Itoa(population), strconv.Itoa(steps), policy),
		Work:     float64(population) * float64(steps),
		Open: func(ctx context.Context, b xlabridge.Backend, o Options) (*Runner, error) {
			return OpenPlay(ctx, b, Experiment(env, policy, population, steps, o))
		},
	}
}

// Experiment is a population that plays. The strategy draws members one by one, as an odd number of them asks for.
func Experiment(env, policy string, population, steps int, o Options) evolve.Config {
	c := evolve.DefaultConfig()
	c.Env, c.Policy, c.Population, c.Steps, c.Strategy = env, policy, population, steps, "randomsearch"
	c.Devices, c.Tune = o.Devices, o.Tune
	return c
}
