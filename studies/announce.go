package studies

import (
	"errors"
	"fmt"

	"xlarun/internal/quantity"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// maxFailures is the number of trials after which a study stops if every one has failed.
const maxFailures = 10

// isOurs reports whether a trial was asked by a study of this program. Other programs can add trials to the database.
func isOurs(t *study.FrozenTrial) bool { return t.SystemAttrs[study.SeesAttr] != nil }

// readFinished reads the trials that are not announced yet, and announces those that have finished.
func (c *Coordinator) readFinished() (progress, error) {
	trials, err := c.study.TrialsFrom(c.announced)
	if err != nil {
		return progress{}, &retryable{err}
	}
	rest, err := c.announce(trials, false)
	return c.progress(rest), err
}

// announce calls Ended for trials in the order of their numbers, up to the first open trial of this study, and returns
// the rest. It does not wait for trials of other programs. An enqueued trial becomes a trial of this study when it is
// asked, which is soon: announce stops before it, except at the end of the study.
func (c *Coordinator) announce(trials []*study.FrozenTrial, end bool) (rest []*study.FrozenTrial, err error) {
	if n := len(trials); n > 0 {
		c.next = trials[n-1].Number + 1
	}
	for i, t := range trials {
		enqueued := t.State == study.Waiting
		if isOurs(t) && !t.State.Finished() || enqueued && !end {
			return trials[i:], nil
		}
		c.announced++
		if enqueued {
			continue
		}
		c.updateBest(t)
		if !isOurs(t) {
			if c.foreign++; c.foreign == 1 {
				c.notice("trial %d was added by another program: samplers see such trials, and they do not count "+
					"among the %d of this study", t.Number, c.Spec.Trials)
			}
			continue
		}
		c.asked++
		c.pool.ResetDeaths()
		if t.State == study.Fail {
			c.failed++
			c.reason = Reason(t)
		}
		if c.Ended != nil {
			c.Ended(t, c.best)
		}
		if c.failed >= maxFailures && c.failed == c.asked {
			return nil, c.giveUp(trials[i+1:])
		}
	}
	return nil, nil
}

// updateBest keeps the better one of the best trial and t. A study of several objectives has no best trial.
func (c *Coordinator) updateBest(t *study.FrozenTrial) {
	if len(c.Spec.Directions()) > 1 {
		return
	}
	candidates := []*study.FrozenTrial{t}
	if c.best != nil {
		candidates = []*study.FrozenTrial{c.best, t}
	}
	if best := study.Best(candidates, c.Spec.Directions()); len(best) > 0 {
		c.best = best[0]
	}
}

// announceRest announces the remaining trials, which are of other programs. It returns an error if every trial failed.
func (c *Coordinator) announceRest(p progress) error {
	if _, err := c.announce(p.rest, true); err != nil {
		return err
	}
	if c.failed > 0 && c.failed == c.asked {
		return fmt.Errorf("all %d trials have failed, the last as %s: mend %s, and give the study another name",
			c.failed, c.reason, c.Spec.culprit())
	}
	return nil
}

// announceHeld calls Ended for the finished trials of this study that announce holds back behind an open one. Nothing
// is announced after it.
func (c *Coordinator) announceHeld() {
	trials, err := c.study.TrialsFrom(c.announced)
	if err != nil {
		return // the storage is away: the next session announces them
	}
	for _, t := range trials {
		if !t.State.Finished() {
			continue
		}
		c.updateBest(t)
		if isOurs(t) && c.Ended != nil {
			c.Ended(t, c.best)
		}
	}
}

// giveUp ends a study whose first trials have all failed. Its open trials fail too.
func (c *Coordinator) giveUp(rest []*study.FrozenTrial) error {
	c.pool.Stop()
	reason := fmt.Sprintf("the study was given up after %s that failed",
		quantity.Count(c.failed, "trial", "trials"))
	var results []rdb.TrialResult
	for _, t := range rest {
		if isOurs(t) && !t.State.Finished() {
			results = append(results, rdb.TrialResult{Trial: t.ID, Result: study.Result{
				State: study.Fail, Reason: reason}})
		}
	}
	for _, err := range c.db.FinishAll(results) {
		if err != nil && !errors.As(err, new(*study.Nondeterminism)) { // the trial has finished meanwhile
			return err
		}
	}
	return fmt.Errorf("the first %d trials have all failed, the last as %s: mend %s, and give the study "+
		"another name", c.failed, c.reason, c.Spec.culprit())
}
