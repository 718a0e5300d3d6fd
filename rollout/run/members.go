package run

import (
	"fmt"

	"xlarun/graph/random"
)

// The members that a run saves, each in a file NAME.safetensors of its folder.
const (
	BestMember   = "best"   // the member with the highest mean return on fresh episodes
	CentreMember = "centre" // the member that stands for the whole search
)

// FameMember is the name of the n-th member of the hall of fame, from 1: "fame-1" has the highest mean return.
func FameMember(n int) string { return fmt.Sprintf("fame-%d", n) }

const (
	// JudgeKey is folded into the seed's key for the episodes on which members are judged. No training uses it.
	JudgeKey = 0x6a756467
	// playKey is folded into the seed's key for the episodes that are played after training.
	playKey = 0x706c6179
)

// EpisodesKey is the key of the episodes that are played after training with a seed: neither training nor judging uses
// it. Episode e, from 0, has the key FoldIn(EpisodesKey(seed), e).
func EpisodesKey(seed int64) random.Key { return random.FoldIn(random.New(seed), playKey) }
