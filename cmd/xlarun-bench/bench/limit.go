package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
)

// ofPeak adds the share of the cores' most operations to rows of which the operations are known and that have no other
// limit.
func (b *bench) ofPeak(ctx context.Context, w Workload, all []row) []row {
	if w.Flops == 0 || !b.flags.peers || all[0].Limit != "" {
		return all
	}
	if b.peak == 0 {
		peak, err := b.flops(ctx)
		if err != nil {
			fmt.Fprintf(b.Out, "%s: without the share of the cores' peak: %v\n", w.Name, err)
			return all
		}
		b.peak = peak
	}
	for i := range all {
		all[i].Limit, all[i].Share = "peak", w.Flops/all[i].Ours/b.peak
	}
	return all
}

// flops measures how many float32 operations all cores do in a second.
func (b *bench) flops(ctx context.Context) (float64, error) {
	const work = 2 // 1e9 operations
	start, err := b.peer(ctx, Peer{Source: "peak.c", Args: []string{strconv.Itoa(work)}})
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
