// Package generation is shared by all kinds of evolution: the settings of a search, and its generation as one compiled
// program: ask, evaluate, tell.
package generation

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"xlarun/envs"
	"xlarun/internal/quantity"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// Search holds the settings of one search. Start from DefaultSearch: zero means zero, except where a field says
// otherwise.
type Search struct {
	run.EpisodeSettings
	run.EvalSettings
	Strategy    string `set:"strategy" help:"algorithm that makes the next population"`
	Population  int    `set:"pop" short:"p" help:"members of the population"`
	Generations int    `set:"generations" short:"g" program:"no" resume:"any" min:"1" max:"1073741823" help:"generations at most"`
	// HallOfFame is the number of places in the hall of fame, or "auto"; see Hall.
	HallOfFame string `set:"hall-of-fame" advanced:"" number:"" wants:"a number of members from 0 to 1000, or auto" help:"members that are kept as the best of the whole run, from the best of each generation, and judged at its end; auto: 4, none of networks above 65536 parameters"`
	run.Planning
	run.Layout         // its Tile is a multiple of GroupSize; the next two settings belong to the layout, too
	EpisodeBatch int   `set:"episode-batch" advanced:"" min:"1" max:"1048576" zero:"the default" help:"episodes of a member that run side by side, a divisor of --episodes; 0 to choose"`
	VectorWidth  int   `set:"vector-width" advanced:"" min:"128" max:"4096" zero:"the default" help:"width in bits of the vectors that the compiler prefers on cpu; 0 to choose"`
	made         *made // see Once
}

// MigrationSettings are the settings of searches whose best members travel to other searches.
type MigrationSettings struct {
	MigrateEvery int `set:"migrate-every" program:"no" min:"0" max:"1073741823" help:"generations from one migration to the next; 0: nobody migrates"`
	Migrants     int `set:"migrants" needs:"migrate-every=!0" min:"1" max:"4096" help:"members that leave an island in a migration, and arrive at most"`
}

// DefaultMigration sends 5 members every 10 generations.
func DefaultMigration() MigrationSettings {
	return MigrationSettings{MigrateEvery: 10, Migrants: 5}
}

// DefaultSearch is evosax's Open_ES on CartPole.
func DefaultSearch() Search {
	return Search{
		EpisodeSettings: run.EpisodeSettings{
			EnvSettings:  run.EnvSettings{Env: "CartPole-v1", Policy: "mlp:16,16"},
			Steps:        500,
			Episodes:     1,
			GoalSettings: run.GoalSettings{Target: "auto", EvalEpisodes: 100},
		},
		EvalSettings: run.EvalSettings{EvalEnvs: 64, EvalEvery: 10},
		Strategy:     "openes", Population: 256, Generations: 100, HallOfFame: auto, Planning: run.Defaults(),
	}
}

const (
	// MaxPopulation is the largest population: float32 has all whole numbers up to it, which ranks need.
	MaxPopulation = 1 << 24
	maxUnroll     = 64
)

// auto is the HallOfFame of usualHall places.
const auto = "auto"

// Last returns the last generation, at which a run ends (run.Metrics.Over).
func (c *Search) Last() int64 { return int64(c.Generations) }

// Parts returns the strategy and the policy.
func (c *Search) Parts() []settings.Part { return []settings.Part{strategy.Part(), policy.Part()} }

// With returns the search with one more setting of a part: With("strategy.sigma", .2).
func (c Search) With(name string, value any) Search {
	c.Parted, c.made = c.Parted.With(name, value), nil
	return c
}

// Clone returns a copy that shares no map with c.
func (c *Search) Clone() Search {
	clone := *c
	clone.Parted, clone.EnvParam, clone.made = maps.Clone(c.Parted), maps.Clone(c.EnvParam), nil
	return clone
}

// NormalizedRollout is Rollout with observations normalized; see policy.Normalizing.
func (c *Search) NormalizedRollout() (*episode.Rollout, error) {
	r, err := c.Rollout()
	if err != nil {
		return r, err
	}
	spec := r.Env.Spec()
	r.Policy, r.Head, err = policy.MakeNormalizing(c.Policy, c.Parted.Under("policy."), spec.Observation, spec.Action)
	return r, err
}

// Setup describes the run.
func (c *Search) Setup() string {
	return fmt.Sprintf("%d x %s, %s, %s, seed %d", c.Population, c.Policy, c.Strategy,
		quantity.Count(c.Steps, "step", "steps"), c.Seed)
}

// Purpose describes the program: all that its shapes depend on.
func (c *Search) Purpose() string {
	text := fmt.Sprintf("evolve %s, %d x %s, %s, %d steps", c.Env, c.Population, c.Policy, c.Strategy, c.Steps)
	if c.Episodes > 1 {
		text += fmt.Sprintf(" x %d episodes", c.Episodes)
	}
	if len(c.EnvParam) > 0 {
		text += ", given " + c.EnvParam.Shape(c.Env)
	}
	if c.HallOfFame != auto && c.HallOfFame != "" {
		text += ", hall of fame of " + c.HallOfFame
	}
	for _, p := range settings.ChosenParts(c) {
		text += settings.Unusual(p, c)
	}
	return text
}

// Given lists the settings that fix the layout.
func (c *Search) Given() (names []string) {
	for _, s := range []struct {
		name string
		set  bool
	}{{"tile", c.Tile != 0}, {"batch-last", c.BatchLast}, {"unroll", c.Unroll != 0},
		{"episode-batch", c.EpisodeBatch != 0}, {"vector-width", c.VectorWidth != 0}} {
		if s.set {
			names = append(names, s.name)
		}
	}
	return names
}

// checkParted refuses settings of parts that do not exist.
func (c *Search) checkParted() error {
	for name, value := range c.Parted {
		if part, _, _ := strings.Cut(name, "."); part != "strategy" && part != "policy" {
			return settings.Wrong(name, value, "strategy.NAME or policy.NAME")
		}
	}
	return nil
}

// check refuses a setting that is out of range. s is the strategy of the search.
func (c *Search) check(s *strategy.Erased) error {
	least := s.GroupSize
	if least < 1 {
		return envs.ResultError(s.Settings, "strategy", "Traits",
			fmt.Sprintf("got a GroupSize of %d, want 1 or more", least))
	}
	if msg := envs.CheckReports(s.Reports, s.Report != nil); msg != "" {
		return envs.ResultError(s.Settings, "strategy", "Traits", msg)
	}
	if err := CheckPopulation("pop", c.Population, c.Strategy, s); err != nil {
		return err
	}
	if err := checkMembers("tile", c.Tile, 0, c.Strategy, s.GroupSize); err != nil {
		return err
	}
	if err := settings.Check(c); err != nil {
		return err
	}
	if c.EpisodeBatch > 0 && c.Episodes%c.EpisodeBatch != 0 {
		return settings.Wrong("episode-batch", c.EpisodeBatch, "a divisor of the %d episodes", c.Episodes)
	}
	if n := c.VectorWidth; n&(n-1) != 0 {
		return settings.Wrong("vector-width", n, "a power of two from 128 to 4096, or 0 to choose")
	}
	_, err := c.places(0)
	return err
}

// CheckPopulation refuses a number of members that a strategy s cannot have. name is its name, and key the setting's.
func CheckPopulation(key string, members int, name string, s *strategy.Erased) error {
	return checkMembers(key, members, max(s.GroupSize, s.LeastPopulation), name, s.GroupSize)
}

// checkMembers refuses a number of members that is below least, above MaxPopulation or no multiple of groupSize. name
// is the strategy's.
func checkMembers(key string, members, least int, name string, groupSize int) error {
	inRange := members >= least && members <= MaxPopulation
	if inRange && members%groupSize == 0 {
		return nil
	}
	multiple := "a whole number"
	switch {
	case groupSize == 2:
		multiple = "an even number"
	case groupSize > 2:
		multiple = fmt.Sprintf("a multiple of %d", groupSize)
	}
	wants := fmt.Sprintf("%s from %d to %d", multiple, least, MaxPopulation)
	if least == 0 {
		wants += ", 0 for the default"
	}
	if least > groupSize && members > 0 && members < least {
		wants += fmt.Sprintf(": %s needs %d members at least", name, least)
	}
	if groupSize > 1 && inRange {
		wants += fmt.Sprintf(": %s samples its members in groups of %d", name, groupSize)
	}
	return settings.Wrong(key, members, "%s", wants)
}

const (
	// usualHall is the number of places with "auto". It is 0 for members of more than usualHallParams parameters, since
	// each place takes the memory of a member.
	usualHall       = 4
	usualHallParams = 1 << 16
	maxHall         = 1000
)

// places returns the number of places in the hall of fame, given the number of a member's parameters.
func (c *Search) places(params int) (int, error) {
	if c.HallOfFame == auto || c.HallOfFame == "" {
		if params > usualHallParams {
			return 0, nil
		}
		return usualHall, nil
	}
	n, err := strconv.Atoi(c.HallOfFame)
	if err != nil || n < 0 || n > maxHall {
		f, _ := settings.Lookup(c, "hall-of-fame")
		return 0, settings.Wrong("hall-of-fame", c.HallOfFame, "%s", f.Wants)
	}
	return n, nil
}
