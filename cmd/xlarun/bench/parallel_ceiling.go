package bench

import (
	"context"
	"fmt"
	"text/tabwriter"

	"xlarun/cmd/xlarun/bench/parallelbench"
	"xlarun/cmd/xlarun/console"
)

// ceilingTier is what was measured of a tier with one worker and two, and what the model makes of it.
type ceilingTier struct {
	Tier parallelbench.Tier `json:"tier"`
	// Trial is the processor time of a trial, its run's start included, with one worker; all is of the trials that a longer study has more than a shorter one, so
	// that no start of a process is in it.
	Trial float64 `json:"trial_processor_seconds"`
	// Clock and Processor are speed-ups of two workers over one, by the clock, and twice the ratio of processor times; each with the 95 % interval of its median.
	Clock          float64    `json:"clock_speedup"`
	ClockSpread    [2]float64 `json:"clock_speedup_interval"`
	Whole          float64    `json:"whole_study_speedup"` // of the longer study, starts included
	Processor      float64    `json:"processor_speedup"`
	ProcessorRange [2]float64 `json:"processor_speedup_interval"`
	// Free is Processor times the part of the cores that others left free in which two workers computed: what the clock would show on an idle machine, as far as
	// that can be told on another. It is of the longer study, its start included.
	Free     float64       `json:"free_cores_speedup"`
	Quiet    int           `json:"quiet_rounds"` // in which others used next to nothing: where there are some, Clock is of them alone
	Others   float64       `json:"others_cores"`
	Modelled []modelledRow `json:"modelled"`
	// Allowed is the contention with which the wished bands are still reached, by number of workers.
	Allowed map[int]float64 `json:"allowed_contention"`
}

// modelledRow is the model's speed-up with so many workers that have a core each.
type modelledRow struct {
	Workers      int     `json:"workers"`
	Coordination float64 `json:"coordination_only"` // cores that do not hinder each other
	Contention   float64 `json:"contention"`        // with what two workers were measured to hinder each other, in processor time
	Low          float64 `json:"contention_low"`    // at the ends of that number's interval
	High         float64 `json:"contention_high"`
	Clock        float64 `json:"by_the_clock"`  // with all that two workers lost by the clock, to other programs of the machine too
	OfHundred    float64 `json:"of_100_trials"` // Contention, of a study of 100 equal trials
	Band         string  `json:"band,omitempty"`
}

// modelWorkers are the numbers that the model is asked for, wishedBands what is hoped for: acceptable with 10, good with 20.
var (
	modelWorkers = []int{1, 2, 10, 20, 64, 128}
	wishedBands  = map[int]float64{10: 5, 20: 10}
)

// ceiling measures one worker and two, and asks the model for more.
func (b *parallelBench) ceiling(ctx context.Context) error {
	if b.cost == nil {
		if err := b.coordination(ctx); err != nil {
			return err
		}
	}
	var all []ceilingTier
	for i, tier := range b.tiers {
		fmt.Fprintln(b.Out, tier)
		short := more(b, 6, 4)
		long := short * more(b, []int{5, 4, 3}, []int{6, 4, 3})[min(i, 2)]
		if err := b.warm(ctx, tier, 1); err != nil {
			return err
		}
		var sides []parallelSide
		for _, trials := range []int{short, long} {
			for _, workers := range []int{1, cores()} {
				sides = append(sides, evolveStudy{tier, trials, workers, 1, "random", false}.side(ctx, b, fmt.Sprintf("%d trials, %d workers", trials, workers)))
			}
		}
		runs, err := b.inTurn(ctx, b.flags.repeats+1, sides)
		if err != nil {
			return err
		}
		if err := b.table(runs, ""); err != nil {
			return err
		}
		b.found["ceiling-runs-"+tier.Name] = runs
		c := measuredCeiling(tier, runs, long-short)
		c.model(*b.cost)
		all = append(all, c)
		b.beside("speed-up-"+tier.Name, runs[3], "one worker", runs[2], neededOfTwo)
		fmt.Fprintf(b.Out, "a trial takes %s of processor time; two workers are %.2f times as fast by the clock (%.2f to %.2f), %.2f by processor time (%.2f to %.2f), %.2f with the cores that others left free; %d of %d rounds were quiet\n",
			console.ShortTime(c.Trial), c.Clock, c.ClockSpread[0], c.ClockSpread[1], c.Processor, c.ProcessorRange[0], c.ProcessorRange[1], c.Free, c.Quiet, len(runs[0].Runs))
	}
	b.found["ceiling"] = all
	fmt.Fprintf(b.Out, "A model, not a measurement: speed-ups over one worker, of workers that have a core each. Only 1 and %d workers were measured.\n", cores())
	t := tabwriter.NewWriter(b.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "TIER\tWORKERS\tCOORDINATION ONLY\tWITH CONTENTION\tFROM\tTO\tBY THE CLOCK\tOF 100 TRIALS\tBAND")
	for _, c := range all {
		for _, r := range c.Modelled {
			fmt.Fprintf(t, "%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%s\n", c.Tier.Name, r.Workers, r.Coordination, r.Contention, r.Low, r.High, r.Clock, r.OfHundred, r.Band)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, c := range all {
		fmt.Fprintf(b.Out, "%s: %g times with 10 workers asks for a contention of at most %.3f, %g times with 20 for %.3f (two workers %.2f times as fast as one)\n", c.Tier.Name, wishedBands[10], c.Allowed[10],
			wishedBands[20], c.Allowed[20], 2/(1+max(0, c.Allowed[20])))
	}
	return nil
}

// measuredCeiling puts the runs of a tier together: short and long studies, each with one worker and two.
func measuredCeiling(tier parallelbench.Tier, runs []parallelRuns, trials int) ceilingTier {
	var clock, processor, whole, one, others, free, quiet []float64
	for r := range runs[0].Runs {
		at := func(i int) taken { return runs[i].Runs[r] }
		slow, fast := at(2).Seconds-at(0).Seconds, at(3).Seconds-at(1).Seconds
		alone, together := at(2).Processor-at(0).Processor, at(3).Processor-at(1).Processor
		whole = append(whole, at(2).Seconds/at(3).Seconds)
		others = append(others, at(2).Others, at(3).Others)
		if slow > 0 && fast > 0 {
			clock = append(clock, slow/fast)
			if max(at(0).Others, at(1).Others, at(2).Others, at(3).Others) < nextToNothing {
				quiet = append(quiet, slow/fast)
			}
		}
		if alone > 0 && together > 0 {
			processor, one = append(processor, 2*alone/together), append(one, alone/float64(trials))
			free = append(free, 2*alone/together*min(1, at(3).ofFree()))
		}
	}
	if len(quiet) > 0 {
		clock = quiet
	}
	c := ceilingTier{Tier: tier, Trial: parallelbench.Median(one), Clock: parallelbench.Median(clock), Whole: parallelbench.Median(whole), Processor: parallelbench.Median(processor), Others: parallelbench.Median(others), Free: parallelbench.Median(free), Quiet: len(quiet)}
	c.ClockSpread[0], c.ClockSpread[1] = parallelbench.Spread(clock)
	c.ProcessorRange[0], c.ProcessorRange[1] = parallelbench.Spread(processor)
	return c
}

// nextToNothing is how many cores others may use in a quiet round.
const nextToNothing = .2

// model fills in what the model says. What two workers lose by the clock to other programs of the machine is none of a study's, so that contention is taken from
// processor time; waiting for the coordinator, which that does not show, is in cost.
func (c *ceilingTier) model(cost parallelbench.Cost) {
	of := func(speedup float64) parallelbench.Model {
		return parallelbench.Model{Trial: c.Trial, Contention: max(0, 2/speedup-1), Cost: cost}
	}
	free := parallelbench.Model{Trial: c.Trial, Cost: cost}
	clock := parallelbench.Model{Trial: c.Trial, Contention: parallelbench.ContentionOf(c.Trial, c.Clock, cost), Cost: cost}
	c.Allowed = map[int]float64{}
	for _, n := range modelWorkers {
		w := float64(n)
		r := modelledRow{Workers: n, Coordination: free.SpeedUp(w), Contention: of(c.Processor).SpeedUp(w), Low: of(c.ProcessorRange[0]).SpeedUp(w), High: of(c.ProcessorRange[1]).SpeedUp(w), Clock: clock.SpeedUp(w)}
		if wish, ok := wishedBands[n]; ok {
			c.Allowed[n] = free.Allowed(w, wish)
		}
		r.OfHundred = r.Contention * parallelbench.Waves(100, n)
		if wish, ok := wishedBands[n]; ok {
			r.Band = fmt.Sprintf("%gx wished: %s", wish, map[bool]string{true: "within", false: "not reached"}[r.Contention >= wish])
		}
		c.Modelled = append(c.Modelled, r)
	}
}
