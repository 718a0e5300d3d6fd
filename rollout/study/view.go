package study

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// View is what a sampler or pruner knows when it decides something for a trial.
type View struct {
	Study      string
	Seed       int64
	Number     int64 // of the trial
	Directions []Direction
	// Finished are the trials that are over and seen, by number. A longer list of a later view begins with other
	// trials where some ended out of order. It is not to be written to.
	Finished []*FrozenTrial
	// Running are the others, by number: parameters alone are seen of them.
	Running []*FrozenTrial
	first   settled // of Finished
	// Attrs are the system attributes that the sampler leaves with the trial.
	Attrs map[string]any
}

// Rand is a generator for one purpose of the trial: the same for the same seed, number and purpose.
func (v *View) Rand(purpose string) *rand.Rand {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%d/%s", v.Seed, v.Number, purpose))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])))
}

// completed are the finished trials with values.
func (v *View) completed() (all []*FrozenTrial) {
	for _, t := range v.Finished {
		if t.State == Complete {
			all = append(all, t)
		}
	}
	return all
}

// common are the parameters that all complete and pruned trials have, with the newest distributions, and their names,
// sorted. Those of one value are left out.
func (v *View) common() (names []string, space map[string]Distribution) {
	space = maps.Clone(v.all().space)
	for name, d := range space {
		if d.single() {
			delete(space, name)
		}
	}
	return slices.Sorted(maps.Keys(space)), space
}

// Sampler chooses parameters.
type Sampler interface {
	// Name is the word for it in a spec.
	Name() string
	// Relative chooses parameters together, those of a space that it finds in the view: as many as it likes.
	Relative(v *View) (map[string]float64, error)
	// Independent chooses a parameter that Relative did not.
	Independent(v *View, name string, d Distribution) (float64, error)
}

// sight is what of other trials a sampler looks at.
type sight int

const (
	sightResults sight = iota // how they ended
	sightParams               // their parameters alone, whether they are over or not
	sightNone
)

func sightOf(s Sampler) sight {
	if b, ok := s.(interface{ sight() sight }); ok {
		return b.sight()
	}
	return sightResults
}

// SeesResults tells whether what a sampler chooses depends on how other trials ended. Else trials may be asked before any has.
func SeesResults(s Sampler) bool { return sightOf(s) == sightResults }

// Pruner tells of a trial under way that it is not worth going on with.
type Pruner interface {
	Name() string
	// Prune decides after each report; the trial's own reports are in t, v.Number is its number.
	Prune(v *View, t *FrozenTrial) bool
}
