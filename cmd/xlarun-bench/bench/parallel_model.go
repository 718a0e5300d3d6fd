package bench

import (
	"fmt"
	"slices"
)

// parallelModel is what a study takes by more workers than were measured: a trial of seconds of CPU time takes a
// contention longer for each other worker, trials run in rounds, and one coordinator hands them out. It is the
// Universal Scalability Law (Gunther, "A general theory of computational scalability", 2008) without its term for
// pairs.
type parallelModel struct{ trial, contention, coordination float64 }

// seconds returns what a study takes.
func (m parallelModel) seconds(trials, workers int) float64 {
	workers = min(workers, trials)
	rounds := (trials + workers - 1) / workers
	trial := m.trial * (1 + m.contention*float64(workers-1))
	return max(float64(rounds)*(trial+m.coordination), float64(trials)*m.coordination)
}

// parallelSummary adds the speed-up of two workers to its row, and rows of the model.
func parallelSummary(table []row) []row {
	at := func(name string) int {
		return slices.IndexFunc(table, func(r row) bool {
			return r.Name == name || r.Peer != nil &&
				r.Name == name+"-"+*r.Peer
		})
	}
	name := func(workers int) string { return fmt.Sprintf("small-%d-%d", fewTrials, workers) }
	one, two, cost := at(name(1)), at(name(fewWorkers)), at("coordination")
	if one < 0 || two < 0 {
		return table
	}
	for i := range table {
		if table[i].What == table[two].What {
			table[i].Gain = table[one].Ours / table[two].Ours
		}
	}
	if cost < 0 || table[one].Processor <= 0 {
		return table
	}
	m := parallelModel{trial: table[one].Processor / fewTrials, coordination: table[cost].Ours,
		contention: max(0, table[two].Processor/table[one].Processor-1)}
	for _, trials := range parallelTrials {
		alone := m.seconds(trials, 1)
		for _, workers := range parallelWorkers[fewWorkers:] {
			r := row{Name: fmt.Sprintf("model-%d-%d", trials, workers), Ours: m.seconds(trials, workers),
				What: fmt.Sprintf("model, not measured: %d trials of %v by %d workers with a core each", trials,
					tiers[0], workers)}
			r.Gain, r.Rate, r.Unit = alone/r.Ours, float64(trials)/r.Ours, "trials"
			table = append(table, r)
		}
	}
	return table
}
