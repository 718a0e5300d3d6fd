package bench

import (
	"fmt"
	"slices"
	"time"
)

// budgetOfAll and budgetOfSuite are what all suites, and one alone, may take. Named workloads take what they take.
var budgetOfAll, budgetOfSuite = 20 * time.Minute, suiteOfAll(20 * time.Minute)

// suiteOfAll is the most that one suite takes of the time of all.
func suiteOfAll(all time.Duration) time.Duration { return all * 3 / 10 }

// leastTurns is the time that the turns of a row get, however long its sides took to start.
const leastTurns = time.Second

// job is a workload of a suite, and what came of it.
type job struct {
	suite    Suite
	prefix   string // of its rows' names
	workload Workload
	rank     int           // it runs after those of lower rank
	share    time.Duration // that it should take; 0: no matter
	timeout  time.Duration // after which it ends; 0: never
	rows     []row
	reason   string // why it was not measured
}

// rank ranks jobs: 0 for those whose rows have a goal, and for one of each suite that has none; then the others, one of
// each suite in turn. So what does not fit is what matters least.
func rank(jobs []*job) {
	next := map[string]int{}
	hasGoal := func(j *job) bool {
		return slices.ContainsFunc(j.workload.rowNames(), func(row string) bool {
			return goalOf(j.suite.Name, row) != Goal{}
		})
	}
	for _, j := range jobs {
		if hasGoal(j) {
			next[j.suite.Name] = 1
		}
	}
	for _, j := range jobs {
		if !hasGoal(j) {
			j.rank = next[j.suite.Name]
			next[j.suite.Name]++
		}
	}
}

// budget shares time out to jobs. The zero budget has no end.
type budget struct {
	all, suite time.Duration            // at most
	spent      map[string]time.Duration // by each suite
	total      time.Duration
}

// share returns the time that a job should take, the first of those that are left, and the time after which it ends. A
// job that takes less leaves the rest to the others. The reason says that there is none left.
func (b *budget) share(left []*job) (share, timeout time.Duration, reason string) {
	if b.all == 0 {
		return 0, 0, ""
	}
	j := left[0]
	rest, suite := b.all-b.total, b.suite-b.spent[j.suite.Name]
	switch {
	case rest < leastTurns:
		return 0, 0, fmt.Sprintf("the time of %v was over", b.all)
	case suite < leastTurns:
		return 0, 0, fmt.Sprintf("the time of %v of the suite %s was over", b.suite, j.suite.Name)
	}
	same, mine := 0, 0 // jobs that are left
	for _, x := range left {
		if (x.rank == 0) == (j.rank == 0) {
			same++
			if x.suite.Name == j.suite.Name {
				mine++
			}
		}
	}
	share = min(rest/time.Duration(same), suite/time.Duration(mine))
	return share, min(rest, suite, max(2*share, time.Minute)), ""
}

// overrun is the error of a row that took longer than it may.
type overrun struct{ after time.Duration }

func (e overrun) Error() string {
	return fmt.Sprintf("it was ended after %v, the most that its row may take", e.after.Round(time.Second))
}

// spend counts what a job took.
func (b *budget) spend(j *job, took time.Duration) {
	b.total += took
	if b.spent == nil {
		b.spent = map[string]time.Duration{}
	}
	b.spent[j.suite.Name] += took
}

// notMeasured returns the names of workloads, and of rows whose peers failed, by the reason.
func notMeasured(jobs []*job) map[string][]string {
	all := map[string][]string{}
	for _, j := range jobs {
		if j.reason != "" {
			all[j.reason] = append(all[j.reason], j.prefix+j.workload.Name)
		}
		for _, r := range j.rows {
			if r.Failed != "" {
				all[r.Failed] = append(all[r.Failed], j.prefix+r.Name)
			}
		}
	}
	return all
}
