package studies

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/studies/lease"
)

// simulatedMessage is a request of a worker to a coordinator, or its answer.
type simulatedMessage struct {
	due    int // milliseconds
	kind   string
	worker int
	name   string
	trial  int64
	steps  int
	yes    bool
}

// simulatedWorker is a worker process, or the one in its place after it was killed.
type simulatedWorker struct {
	name        string
	trial       int64 // -1: none
	steps       int
	asked, beat int
	stopped     int // until then it stands still
}

// TestLeasesInHistories simulates coordinators and workers: messages are lost, doubled and late, all of them stand
// still and are killed. Each trial is committed, once, whoever sends its result. A worker gets the trial of another one
// only after a lease of silence.
func TestLeasesInHistories(t *testing.T) {
	histories := 200
	if long.On() {
		histories = 20000
	}
	var all simulatedCounts
	for seed := range histories {
		all.add(simulatedHistory(t, uint64(seed)))
	}
	t.Logf("%+v", all)
	require.Positive(t, min(all.committed, all.coordinators, all.late, all.lost, all.deaths))
}

// simulatedCounts say what happened.
type simulatedCounts struct{ committed, coordinators, late, lost, deaths int }

func (c *simulatedCounts) add(o simulatedCounts) {
	c.committed, c.coordinators, c.late = c.committed+o.committed, c.coordinators+o.coordinators, c.late+o.late
	c.lost, c.deaths = c.lost+o.lost, c.deaths+o.deaths
}

func simulatedHistory(t *testing.T, seed uint64) (counts simulatedCounts) {
	const (
		ttl     = 40 // all times in milliseconds
		need    = 12 // steps of a trial
		peace   = 3000
		attends = 4 // the coordinator looks after its leases
	)
	r := rand.New(rand.NewPCG(seed, 2))
	loss, kill := r.Float64()*.2, r.Float64()*.004
	open := make([]int64, 3+r.IntN(12))
	for i := range open {
		open[i] = int64(i)
	}
	checkpoints, beats := map[int64]int{}, map[int64]int{} // what lasts: files, and heartbeats in the database
	workers := make([]simulatedWorker, 1+r.IntN(5))
	for i := range workers {
		workers[i] = simulatedWorker{name: fmt.Sprint(i), trial: -1}
	}
	now, up, still := 0, 0, 0 // the coordinator is there from up on, and stands still until still
	clock := func() time.Duration { return time.Duration(now) * time.Millisecond }
	d := lease.New(ttl*time.Millisecond, 1e6)
	d.Update(0, open)
	heard := map[int64]simulatedMessage{} // the last of a trial that was accepted: its worker, and when
	finish := func(id int64) bool {
		for i := range open {
			if open[i] == id {
				open = append(open[:i:i], open[i+1:]...)
				return true
			}
		}
		return false
	}
	var requests, answers []simulatedMessage
	send := func(m simulatedMessage, to *[]simulatedMessage) {
		for range 1 + r.IntN(10)/9 {
			if r.Float64() >= loss {
				m.due = now + 1 + r.IntN(4)
				if loss > 0 && r.IntN(50) == 0 {
					m.due += r.IntN(3 * ttl)
				}
				*to = append(*to, m)
			}
		}
	}
	arrive := func(from *[]simulatedMessage, take func(simulatedMessage)) {
		all := *from
		*from = nil
		for _, m := range all {
			if m.due > now {
				*from = append(*from, m)
			} else {
				take(m)
			}
		}
	}
	accepted := func(m simulatedMessage) {
		was, known := heard[m.trial]
		if known && was.name != m.name {
			require.GreaterOrEqual(t, now-was.due, ttl, "seed %d: %s gets trial %d of %s", seed, m.name, m.trial,
				was.name)
		}
		m.due = now
		heard[m.trial], beats[m.trial] = m, now
	}
	answer := func(m simulatedMessage) {
		if now < up {
			return // there is no coordinator
		}
		switch m.kind {
		case "next":
			if m.trial, m.yes = d.Next(clock(), m.name); m.yes {
				m.steps = checkpoints[m.trial]
				accepted(m)
			}
		case "beat", "keep":
			if m.yes = d.Beat(clock(), m.name, m.trial); m.yes {
				accepted(m)
				if m.kind == "keep" {
					checkpoints[m.trial] = m.steps
				}
			}
		case "result":
			if finish(m.trial) {
				counts.committed++
				if d.Holders()[m.trial] != m.name {
					counts.late++
				}
				d.Finish(m.trial)
			}
		case "release":
			if d.Release(clock(), m.name, m.trial, false) {
				delete(heard, m.trial)
			}
		}
		send(m, &answers)
	}
	hear := func(m simulatedMessage) {
		w := &workers[m.worker]
		switch {
		case w.name != m.name: // it was killed
		case m.kind == "next" && w.trial < 0 && m.yes:
			w.trial, w.steps = m.trial, m.steps
		case w.trial != m.trial || m.kind == "next":
		case m.kind == "result" || m.kind == "release":
			w.trial = -1
		case !m.yes:
			w.trial = -1
			counts.lost++
		}
	}
	trials := len(open)
	for ; len(open) > 0; now++ {
		require.Less(t, now, 10*peace, "seed %d hangs", seed)
		if now > peace {
			loss, kill = 0, 0
		}
		if now >= still {
			arrive(&requests, answer)
		}
		arrive(&answers, hear)
		for i := range workers {
			w := &workers[i]
			ask := func(kind string) {
				w.asked = now
				send(simulatedMessage{kind: kind, worker: i, name: w.name, trial: w.trial, steps: w.steps}, &requests)
			}
			switch {
			case now < w.stopped:
			case r.Float64() < kill:
				if r.IntN(2) == 0 { // of the coordinator's machine
					d.Expire(clock(), w.name)
					for id, m := range heard {
						if m.name == w.name {
							delete(heard, id)
						}
					}
				}
				*w = simulatedWorker{name: fmt.Sprint(i, ".", now), trial: -1, stopped: now + r.IntN(2*ttl)}
			case loss > 0 && r.IntN(1000) == 0:
				w.stopped = now + r.IntN(4*ttl)
			case w.trial >= 0 && w.steps < need:
				if r.Float64() < .3 {
					w.steps++
				}
				switch {
				case now-w.beat > ttl/4:
					w.beat = now
					ask("beat")
				case r.IntN(10) == 0:
					ask("keep")
				case loss > 0 && r.IntN(500) == 0:
					ask("release")
				}
			case now-w.asked > ttl/5:
				ask(map[bool]string{true: "next", false: "result"}[w.trial < 0])
			}
		}
		if now%attends == 0 && now >= max(up, still) {
			d.Update(clock(), open)
			for range d.ChangedDeaths() {
				counts.deaths++
			}
			require.Empty(t, d.Failed(clock()))
		}
		switch {
		case r.Float64() < kill:
			still = now + r.IntN(4*ttl)
		case r.Float64() < kill:
			counts.coordinators++
			clear(heard)
			up = now + r.IntN(2*ttl)
			d = lease.New(ttl*time.Millisecond, 1e6)
			at := time.Duration(up) * time.Millisecond
			d.Update(at, open)
			for _, id := range open {
				beat, known := beats[id]
				d.Restore(at, id, lease.Deaths{}, known && up-beat < 3*ttl)
			}
		}
	}
	require.Equal(t, trials, counts.committed, "seed %d", seed)
	return counts
}
