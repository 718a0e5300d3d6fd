package bench

import (
	"context"
	"slices"

	"xlarun/cmd/xlarun-bench/bench/journey"
	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/rollout/plan"
	"xlarun/rollout/ppo"
	"xlarun/xlabridge"
)

// updatesFromStart are the updates of a workload whose time counts from the start of its process.
const updatesFromStart = 4

// journeyWorkloads is the same algorithm in ever faster ways, then a regression in three parts and its repair. The
// rates were measured by others, on a GPU, in a pipeline that went the same way.
func journeyWorkloads(Options) []Workload {
	from := func(w Workload, collect journey.Collect) Workload { // the start of the process
		w.Start, w.Work = coldStart, updatesFromStart*journeyEnvs*journeySteps
		w.What += "; compiling counts"
		w.Open = journeyOf(journey.Way{Half: true, Collect: collect}, updatesFromStart)
		return w
	}
	program := journey.Way{Half: true, Program: true}
	single, branched := program, program
	single.Half, branched.Half, branched.Branch = false, false, true
	all := []Workload{
		{Name: "loop", What: "one environment after the other, op by op: the interpreter", There: There{Rate: 50},
			Open: journeyOf(journey.Way{Environments: 4, Steps: 4, Interpreted: true}, 1), Work: 16},
		from(Workload{Name: "host", What: "environments vectorized on the host, the network on the device",
			There: There{Rate: 500}}, journey.OnHost),
		from(Workload{Name: "device", What: "environments on the device, a call and six transfers a step of each",
			There: There{Rate: 3000}}, journey.OneByOne),
		from(Workload{Name: "batched", What: "a call a step of all, selects instead of branches; a log entry a step",
			There: There{Rate: 8000}}, journey.Logged),
		from(Workload{Name: "unlogged", What: "a log entry an update", There: There{Rate: 15000}}, journey.Batched),
		{Name: "warm", What: "the clock starts after an update that is undone", There: There{Rate: 20000},
			Open: journeyOf(journey.Way{Half: true, Collect: journey.Batched}, 0)},
		{Name: "program", What: "an update is one program, with one transfer", There: There{Rate: 27000},
			Open: journeyOf(program, 0)},
		{Name: "single", What: "half precision off", There: There{Gain: 1 / 2.}, Open: journeyOf(single, 0)},
		{Name: "branch", What: "also a branch for PopArt wherever a value is read", There: There{Gain: 1 / 1.5},
			Open: journeyOf(branched, 0)},
		{Name: "apart", What: "also an optimizer of one call for each array", There: There{Rate: 10000},
			Open: journeyOf(journey.Way{Branch: true, Collect: journey.Scanned}, 0)},
		ppoWorkload("repaired", "xlarun ppo itself", func(c *ppo.Config) {
			gather("same")(c)
			c.Precision = plan.PrecisionAuto
		}, "", ""),
	}
	last := &all[len(all)-1]
	last.Peers, last.There = nil, There{Rate: 29000}
	for i := range all {
		if all[i].Work == 0 {
			all[i].Work = journeyEnvs * journeySteps
		}
		all[i].Unit = "steps"
	}
	return all
}

// gains adds the gains of the rows of the suite journey. A workload that was not measured leaves the next without a
// gain.
func gains(table []row) []row {
	all := journeyWorkloads(Options{})
	for i, w := range all {
		at := func(w Workload) int { return slices.IndexFunc(table, func(r row) bool { return r.Name == w.Name }) }
		here := at(w)
		if here < 0 || w.There == (There{}) {
			continue
		}
		r := &table[here]
		if r.There, r.GainThere = w.There.Rate, w.There.Gain; i == 0 {
			continue
		}
		if before := all[i-1].There.Rate; before > 0 && r.There > 0 {
			r.GainThere = r.There / before
		}
		if before := at(all[i-1]); before >= 0 {
			b := table[before]
			r.Gain = r.Rate / b.Rate
			if b.Processor > 0 && r.Processor > 0 { // of the work of a run, Rate x Ours
				r.GainCPU = r.Rate * r.Ours / r.Processor * b.Processor / (b.Rate * b.Ours)
			}
		}
	}
	return table
}

// The size of an update, as in the suite ppo.
const journeyEnvs, journeySteps = 64, 128

// journeyOf is runs of some updates by a way. With 0 updates a run is one, after a warm-up that leaves the state as it
// was.
func journeyOf(w journey.Way, updates int) openRunner {
	return func(_ context.Context, _ *host, b xlabridge.Backend, _ Options) (*Runner, error) {
		if w.Environments == 0 {
			w.Environments, w.Steps = journeyEnvs, journeySteps
		}
		w.Channels, w.Units, w.MaxSteps = "16,32", 128, 128
		t, err := journey.New(b, w)
		if err == nil && updates == 0 {
			err = t.Update(false)
		}
		if err != nil {
			return nil, err
		}
		return neurobench.Timed(func() (float64, error) {
			for range max(updates, 1) {
				if err := t.Update(true); err != nil {
					return 0, err
				}
			}
			return t.Reward, nil
		}, func() error { return nil }), nil
	}
}
