package rdb

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"xlarun/rollout/study"
)

// Lease is a worker's right to run a trial: nobody else runs it, or marks it failed, while it lives.
type Lease struct {
	Worker string `json:"worker"`
	// Token numbers the leases of a trial from 1.
	Token int64 `json:"token"`
	Until int64 `json:"until"` // Unix milliseconds
	TTL   int64 `json:"ttl"`   // milliseconds
}

const leaseAttr = "xlarun:lease"

// live tells whether the lease holds at a time. One that ends later than its whole length from now was given before the clock was set
// back: it is over, lest it live for ever.
func (l Lease) live(now time.Time) bool {
	left := l.Until - now.UnixMilli()
	return left > 0 && left <= l.TTL
}

// ErrLost tells a worker that its trial is no longer its own: it ended, or another has it.
var ErrLost = errors.New("the lease on the trial is lost")

// ErrLeased tells that a trial is under way.
var ErrLeased = errors.New("a worker has a lease on the trial")

func leaseOf(q querier, trial int64) (l Lease, err error) {
	text, err := systemAttr(q, trial, leaseAttr)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &l)
	}
	return l, err
}

func (d *DB) writeLease(tx *sql.Tx, trial int64, l Lease) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := setAttr(tx, "system", trial, leaseAttr, text); err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO trial_heartbeats (trial_id, heartbeat) VALUES (?, ?) ON CONFLICT (trial_id) DO UPDATE SET heartbeat = excluded.heartbeat`,
		trial, d.now().UTC().Format(timeFormat))
	return err
}

// Claim leases the first trial of ours that runs nowhere: the marked ones, those with the system attribute. One whose workers died `attempts`
// times is marked failed instead. id is 0 where there is none.
func (d *DB) Claim(s study.StudyID, mark, worker string, ttl time.Duration, attempts int64) (id int64, l Lease, err error) {
	err = d.do(func(tx *sql.Tx) error {
		var candidates []int64
		if err := each(tx, func(rows *sql.Rows) error {
			var trial int64
			err := rows.Scan(&trial)
			candidates = append(candidates, trial)
			return err
		}, `SELECT t.trial_id FROM trials t JOIN trial_system_attributes a ON a.trial_id = t.trial_id AND a."key" = ?2
			WHERE t.study_id = ?1 AND t.state IN ('RUNNING', 'WAITING') AND t.state = 'RUNNING' ORDER BY t.trial_id`, s, mark); err != nil {
			return err
		}
		now := d.now()
		for _, trial := range candidates {
			old, err := leaseOf(tx, trial)
			if err != nil {
				return err
			}
			if old.live(now) {
				continue
			}
			if old.Token >= attempts {
				reason := fmt.Sprintf("%d workers died while they ran it: see their logs", old.Token)
				if err := finish(tx, trial, study.Result{State: study.Fail, Reason: reason}, now); err != nil {
					return err
				}
				continue
			}
			l = Lease{Worker: worker, Token: old.Token + 1, Until: now.Add(ttl).UnixMilli(), TTL: ttl.Milliseconds()}
			id = trial
			return d.writeLease(tx, trial, l)
		}
		return nil
	})
	if err != nil {
		return 0, Lease{}, err
	}
	return id, l, nil
}

// Renew makes a lease last longer; ErrLost where it is another's, or the trial is over.
func (d *DB) Renew(trial int64, l Lease) error {
	return d.do(func(tx *sql.Tx) error {
		state, _, err := stateOf(tx, trial)
		if err != nil {
			return err
		}
		has, err := leaseOf(tx, trial)
		if err != nil {
			return err
		}
		if state != study.Running || has.Worker != l.Worker || has.Token != l.Token {
			return ErrLost
		}
		l.Until = d.now().UnixMilli() + l.TTL
		return d.writeLease(tx, trial, l)
	})
}

// Release ends the leases of a worker that is known to be dead: its trials can be claimed at once.
func (d *DB) Release(s study.StudyID, worker string) error {
	return d.do(func(tx *sql.Tx) error {
		type held struct {
			trial int64
			Lease
		}
		var all []held
		if err := each(tx, func(rows *sql.Rows) error {
			var h held
			var text string
			if err := rows.Scan(&h.trial, &text); err != nil {
				return err
			}
			all = append(all, h)
			return json.Unmarshal([]byte(text), &all[len(all)-1].Lease)
		}, `SELECT t.trial_id, a.value_json FROM trials t JOIN trial_system_attributes a ON a.trial_id = t.trial_id AND a."key" = ?2
			WHERE t.study_id = ?1 AND t.state IN ('RUNNING', 'WAITING')`, s, leaseAttr); err != nil {
			return err
		}
		for _, h := range all {
			if h.Worker != worker {
				continue
			}
			h.Until = 0
			text, err := json.Marshal(h.Lease)
			if err != nil {
				return err
			}
			if err := setAttr(tx, "system", h.trial, leaseAttr, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// FailUnleased marks a trial failed, if it is not over and no lease on it lives: ErrLeased where one does.
func (d *DB) FailUnleased(trial int64, reason string) error {
	return d.do(func(tx *sql.Tx) error {
		state, _, err := stateOf(tx, trial)
		if err != nil || state.Finished() {
			return err
		}
		l, err := leaseOf(tx, trial)
		if err != nil {
			return err
		}
		if l.live(d.now()) {
			return ErrLeased
		}
		return finish(tx, trial, study.Result{State: study.Fail, Reason: reason}, d.now())
	})
}
