package bench

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"text/tabwriter"

	"xlarun/cmd/xlarun/bench/parallelbench"
	"xlarun/cmd/xlarun/console"
)

// sizeRow is a tier.
type sizeRow struct {
	Tier      parallelbench.Tier `json:"tier"`
	Workers   parallelRuns       `json:"two_workers"`
	Threads   parallelRuns       `json:"two_threads"`
	SetUp     float64            `json:"set_up_seconds"`   // processor time of a trial of two generations
	Trial     float64            `json:"trial_seconds"`    // of a whole one
	Rank      float64            `json:"rank_correlation"` // of its trials' values with the largest tier's
	BestAlike bool               `json:"same_best"`
	values    []float64
}

// sizes runs the same trials as each tier, by two workers of a thread and by one worker of two.
func (b *parallelBench) sizes(ctx context.Context) error {
	trials := more(b, 24, 12)
	var rows []sizeRow
	for _, tier := range b.tiers {
		fmt.Fprintln(b.Out, tier)
		if err := b.warm(ctx, tier, 1, 2); err != nil {
			return err
		}
		least := tier
		least.Generations = 2
		runs, err := b.inTurn(ctx, b.flags.repeats, []parallelSide{
			evolveStudy{tier, trials, cores(), 1, "quasi-random", true}.side(ctx, b, "2 workers of a thread"),
			evolveStudy{tier, trials, 1, cores(), "quasi-random", true}.side(ctx, b, "1 worker of 2 threads"),
			evolveStudy{least, trials, cores(), 1, "quasi-random", true}.side(ctx, b, "2 generations"),
		})
		if err != nil {
			return err
		}
		r := sizeRow{Tier: tier, Workers: runs[0], Threads: runs[1], SetUp: runs[2].processor() / float64(trials), Trial: runs[0].processor() / float64(trials)}
		if r.values, err = exported(runs[0].Runs[0].out[0]); err != nil {
			return err
		}
		for _, run := range slices.Concat(runs[0].Runs, runs[1].Runs) {
			again, err := exported(run.out[0])
			if err != nil {
				return err
			}
			if !slices.Equal(again, r.values) {
				return fmt.Errorf("the trials of the tier %s came to other values with other workers or threads", tier.Name)
			}
		}
		b.beside("sizes-"+tier.Name, runs[0], "one worker of two threads", runs[1], 1)
		rows = append(rows, r)
	}
	last := rows[len(rows)-1]
	for i := range rows {
		rows[i].Rank = parallelbench.RankCorrelation(rows[i].values, last.values)
		rows[i].BestAlike = slices.Index(rows[i].values, slices.Max(rows[i].values)) == slices.Index(last.values, slices.Max(last.values))
	}
	b.found["sizes"] = rows
	t := tabwriter.NewWriter(b.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "TIER\tGENERATIONS\t2 WORKERS x 1 THREAD\t1 WORKER x 2 THREADS\tPROCESSOR TIME A TRIAL\tOF IT SET-UP\tRANKS AS THE LARGEST\tSAME BEST")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%.0f %%\t%.2f\t%v\n", r.Tier.Name, r.Tier.Generations, console.ShortTime(r.Workers.seconds()), console.ShortTime(r.Threads.seconds()), console.ShortTime(r.Trial),
			100*r.SetUp/r.Trial, r.Rank, r.BestAlike)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(b.Out, "all %d trials of each tier came to the same bits with two workers and with two threads\n", trials)
	return nil
}

// islands are those of one size on all sides.
type islandSize struct{ islands, population, generations, every, migrants int }

// islands runs islands, ours and the peers'.
func (b *parallelBench) islands(ctx context.Context) error {
	s := islandSize{8, 64, more(b, 60, 30), 5, 2}
	fmt.Fprintf(b.Out, "%d islands of %d members, %d generations, %d migrants every %d, episodes of %d steps\n", s.islands, s.population, s.generations, s.migrants, s.every, parallelSteps)
	ours := func(generations int) *exec.Cmd {
		return exec.CommandContext(ctx, b.self, "islands", "CartPole-v1", "--islands", strconv.Itoa(s.islands), "--pop", strconv.Itoa(s.population), "--generations", strconv.Itoa(generations),
			"--migrate-every", strconv.Itoa(s.every), "--migrants", strconv.Itoa(s.migrants), "--steps", strconv.Itoa(parallelSteps), "--strategy", "simplega", "--policy", "mlp:16,16", "--target", "0", "--judge", "2",
			"--devices", strconv.Itoa(cores()), "--tune", "off", "--out", b.file("islands"))
	}
	if _, err := outputOf(ours(2)); err != nil {
		return err
	}
	sides := []parallelSide{{name: "ours", make: func() ([]*exec.Cmd, error) { return []*exec.Cmd{ours(s.generations)}, nil }}}
	names := []string{"deap", "pygmo"}
	if b.peers != nil {
		for _, who := range names {
			sides = append(sides, parallelSide{who, b.peerJob(ctx, "parallel_islands.py", 1, map[string]any{"who": who, "islands": s.islands, "population": s.population, "generations": s.generations,
				"every": s.every, "migrants": s.migrants, "steps": parallelSteps, "workers": cores()}), peerWork})
		}
	}
	runs, err := b.inTurn(ctx, b.flags.repeats, sides)
	if err != nil {
		return err
	}
	b.found["islands"] = runs
	for _, who := range names {
		if r := namedRuns(runs, who); len(r.Runs) > 0 {
			b.beside("islands-"+who, runs[0], who, r, 1)
		}
	}
	return b.table(runs, "")
}
