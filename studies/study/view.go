package study

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// View is what a sampler or a pruner may see when it decides for a trial.
type View struct {
	Study      string
	Seed       int64
	Number     int64 // of the trial
	Directions []Direction
	// Finished are the trials that are over and seen, by number. A longer list of a later view begins with other
	// trials where some ended out of order. Callers do not write to it.
	Finished []*FrozenTrial
	// Running are the others, by number. Only their parameters are seen.
	Running []*FrozenTrial
	prefix  finishedPrefix // of Finished
	// Attrs are the system attributes that the sampler leaves with the trial.
	Attrs map[string]any
}

// Rand returns a random generator for one purpose of the trial. It depends on the seed, the number of the trial and the
// purpose only.
func (v *View) Rand(purpose string) *rand.Rand {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%d/%s", v.Seed, v.Number, purpose))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])))
}

// completed returns the complete trials.
func (v *View) completed() (all []*FrozenTrial) {
	for _, t := range v.Finished {
		if t.State == Complete {
			all = append(all, t)
		}
	}
	return all
}

// common returns the parameters that all complete and pruned trials have, with the newest distributions, and their
// names, sorted. Parameters with a single value are left out.
func (v *View) common() (names []string, space map[string]Distribution) {
	space = maps.Clone(v.summary().space)
	for name, d := range space {
		if d.single() {
			delete(space, name)
		}
	}
	return slices.Sorted(maps.Keys(space)), space
}

// Sampler chooses the parameters of a trial. It is deterministic given the View.
type Sampler interface {
	// Name is the name of the sampler in a spec.
	Name() string
	// Relative chooses some or all of the parameters in the view together. Values are as in
	// FrozenTrial.Params.
	Relative(v *View) (map[string]float64, error)
	// Independent chooses one parameter that Relative did not choose.
	Independent(v *View, name string, d Distribution) (float64, error)
}

// dependency says what a sampler reads of other trials.
type dependency int

const (
	needsResults dependency = iota
	needsParams             // parameters of finished and of running trials
	needsNothing
)

// needsOf returns what a sampler reads: results, unless it has a method needs.
func needsOf(s Sampler) dependency {
	if b, ok := s.(interface{ needs() dependency }); ok {
		return b.needs()
	}
	return needsResults
}

// SeesResults reports whether a sampler looks at the results of other trials. If not, trials may be asked before any
// other has finished.
func SeesResults(s Sampler) bool { return needsOf(s) == needsResults }

// Pruner decides whether to stop a trial early.
type Pruner interface {
	Name() string
	// Prune is called after each report. t holds the reports of the trial, whose number is v.Number.
	Prune(v *View, t *FrozenTrial) bool
}
