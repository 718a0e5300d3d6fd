package run

import (
	"fmt"

	"xlarun/envs"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/xlabridge"
)

// Play says how the members of an experiment play episodes: they can be evaluated, played, drawn and sampled.
type Play struct {
	// Rollout returns how a member plays.
	Rollout func() (*episode.Rollout, error)
	// EvalEpisodes is the number of new episodes on which a member is evaluated.
	EvalEpisodes int
	// Goal returns the mean return at which a run in an environment is solved; NaN if there is none.
	Goal func(spec envs.Spec) float64
	// Sampled is the number of members whose episodes are written at the end of the run.
	Sampled int
	// Again makes members of the population again; nil: they cannot be made again.
	Again *Again
}

// Again makes members of the population that plays after a snapshot again.
type Again struct {
	// Count returns the size of that population.
	Count func(s Snapshot) (int, error)
	// Make makes members, by their numbers from 0, each with the key of its episodes; see episode.Rollout.Member.
	Make func(b xlabridge.Backend, s Snapshot, numbers []int) ([]Sampled, error)
}

// Members are the members of a run. They are saved and, if they play episodes, evaluated. Both methods read only the
// snapshot and what does not change in a run: they may be called while Step runs in another goroutine.
type Members interface {
	// Candidates returns the members of a snapshot that may be the best, on the host. The first stands for the whole
	// search.
	Candidates(s Snapshot) ([]Candidate, error)
	// HallEntries returns the hall of fame of a snapshot, on the host, the highest fitness first; nil if the run has
	// none.
	HallEntries(s Snapshot) ([]HallEntry, error)
}

// Candidate is a member's parameters.
type Candidate struct {
	Name   string // "mean", "best_ever"
	Params any    // a tree, on the host
}

// HallEntry is a member of a hall of fame.
type HallEntry struct {
	Candidate
	Fitness float64 // in the generation in which it entered the hall
	Step    int64   // that generation
}

// Sampled is a member that was made again.
type Sampled struct {
	Candidate
	Number int
	Key    random.Key
}

// The members that a run saves, each in a file NAME.safetensors of its folder.
const (
	// BestMember has the highest mean return on new episodes among the members that failed in the fewest of them.
	BestMember  = "best"
	FinalMember = "final" // the result at the last step: the mean of a search, the last weights
	// CriticFile is the file of the critic that belongs to the newest checkpoint.
	CriticFile = "critic.safetensors"
)

// HallOfFame is the name of a candidate from the hall of fame.
const HallOfFame = "hall-of-fame"

// HallOfFameMember is the name of the n-th member of the hall of fame, from 1: "hall-of-fame-1" has the highest mean
// return.
func HallOfFameMember(n int) string { return fmt.Sprintf("%s-%d", HallOfFame, n) }

const (
	// EvalKey is folded into the seed's key for the episodes on which members are evaluated. No training uses it.
	EvalKey = 0x6a756467
	// playKey is folded into the seed's key for the episodes that are played after training.
	playKey = 0x706c6179
)

// EpisodesKey is the key of the episodes that are played after training with a seed: neither training nor evaluation
// uses it. Episode e, from 0, has the key FoldIn(EpisodesKey(seed), e).
func EpisodesKey(seed int64) random.Key { return EpisodesKeyOf(random.New(seed)) }

// EpisodesKeyOf is EpisodesKey, given the key of the seed.
func EpisodesKeyOf(seed random.Key) random.Key { return random.FoldIn(seed, playKey) }
