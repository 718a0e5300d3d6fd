package bench

import (
	"context"
	"slices"
	"strconv"
)

// flops measures how many float32 operations all cores do in a second.
func (b *bench) flops(ctx context.Context) (float64, error) {
	const work = 2 // 1e9 operations
	start, err := b.peer(ctx, Suite{}, Peer{Source: "peak.c", Args: []string{strconv.Itoa(work)}})
	if err != nil {
		return 0, err
	}
	s := side{start: start}
	defer s.end()
	if err := s.begin(ctx); err != nil {
		return 0, err
	}
	var a answer
	if err := s.process.ask(20, &a); err != nil {
		return 0, err
	}
	return work * 1e9 / slices.Min(a.Seconds), nil
}
