package rdb

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"xlarun/studies/study"
)

// TrialResult is the result of a trial.
type TrialResult struct {
	Trial  int64
	Result study.Result
}

// Finish implements study.Storage.
func (d *DB) Finish(trial int64, r study.Result) error {
	return errors.Join(d.FinishAll([]TrialResult{{Trial: trial, Result: r}})...)
}

// End implements study.Storage.
func (d *DB) End(t *study.FrozenTrial, r study.Result) error {
	return d.do(func(tx *tx) error {
		if err := writeParams(tx, t); err != nil {
			return err
		}
		return errors.Join(finish(tx, d.dialect, []TrialResult{{Trial: t.ID, Result: r}}, d.now())...)
	})
}

// FinishAll calls Finish for many different trials in one transaction, and returns an error for each. It writes all
// results except those with a *study.Nondeterminism. After another error it writes nothing.
func (d *DB) FinishAll(all []TrialResult) []error {
	if len(all) == 0 {
		return nil
	}
	var results []error
	err := d.do(func(tx *tx) error {
		results = finish(tx, d.dialect, all, d.now())
		for _, err := range results {
			if undoes(err) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		results = make([]error, len(all))
		for i := range results {
			results[i] = err
		}
	}
	return results
}

// found is the state of a trial in the database.
type found struct {
	state  study.State
	number int64
}

// finish writes results and returns an error for each. An error other than a *study.Nondeterminism ends the whole.
func finish(tx *tx, dialect *dialect, all []TrialResult, now time.Time) []error {
	results := make([]error, len(all))
	failed := func(err error) []error {
		results[0] = errors.Join(results[0], err)
		return results
	}
	states, err := statesOf(tx, dialect, all)
	if err != nil {
		return failed(err)
	}
	var attributes attrs
	var written numbers
	ids := map[study.State][]any{}
	for i, e := range all {
		digest := e.Result.Digest()
		trial, known := states[e.Trial]
		switch {
		case !known:
			return failed(fmt.Errorf("there is no trial of ID %d", e.Trial))
		case trial.state.Finished():
			if results[i] = checkSecond(tx, e.Trial, trial.number, e.Result, digest); undoes(results[i]) {
				return results
			}
			continue
		}
		ids[e.Result.State] = append(ids[e.Result.State], e.Trial)
		written.add(e.Trial, e.Result.Values, e.Result.Intermediate)
		user := map[string]json.RawMessage{}
		if e.Result.Reason != "" {
			text, err := json.Marshal(e.Result.Reason)
			if err != nil {
				return failed(err)
			}
			user[study.ReasonAttr] = text
		}
		text, err := json.Marshal(digest)
		if err != nil {
			return failed(err)
		}
		attributes.add(e.Trial, user, map[string]json.RawMessage{study.DigestAttr: text})
	}
	if err := errors.Join(setStates(tx, ids, now), written.write(tx), attributes.write(tx)); err != nil {
		return failed(err)
	}
	return results
}

// statesOf returns the states of trials. Nobody else changes them before the end of this transaction.
func statesOf(tx *tx, dialect *dialect, all []TrialResult) (map[int64]found, error) {
	states := map[int64]found{}
	var ids []int64
	for _, e := range all {
		ids = append(ids, e.Trial)
	}
	slices.Sort(ids) // who locks several locks them in one order
	var values []any
	for _, id := range ids {
		values = append(values, id)
	}
	err := batches(1, values, func(n int, some []any) error {
		return each(tx, func(rows *sql.Rows) error {
			var id int64
			var f found
			err := rows.Scan(&id, &f.state, &f.number)
			states[id] = f
			return err
		}, `SELECT trial_id, state, number FROM trials WHERE trial_id IN `+marks(n, 1)+` ORDER BY trial_id`+
			dialect.forUpdate, some...)
	})
	return states, err
}

// setStates sets the states of finished trials.
func setStates(tx *tx, trials map[study.State][]any, now time.Time) error {
	for _, state := range slices.Sorted(maps.Keys(trials)) {
		err := batches(1, trials[state], func(n int, some []any) error {
			_, err := tx.Exec(`UPDATE trials SET state = ?, datetime_complete = ? WHERE trial_id IN `+marks(n, 1),
				append([]any{string(state), timeText(now)}, some...)...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func systemAttr(q querier, trial int64, key string) (text string, err error) {
	err = q.QueryRow(`SELECT value_json FROM trial_system_attributes WHERE trial_id = ? AND "key" = ?`, trial,
		key).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, err
}

// checkSecond compares a second result with the first one.
func checkSecond(tx *tx, trial, number int64, r study.Result, digest string) error {
	text, err := systemAttr(tx, trial, study.DigestAttr)
	if err != nil {
		return err
	}
	first := ""
	_ = json.Unmarshal([]byte(text), &first) // none, where another program ended the trial
	if first == digest {
		return nil
	}
	values := []any{}
	for _, x := range r.Values {
		v, _ := numberOf(x)
		values = append(values, v)
	}
	conflict, err := json.Marshal(map[string]any{"first": first, "second": digest, "values": values})
	if err != nil {
		return err
	}
	var attributes attrs
	attributes.add(trial, nil, map[string]json.RawMessage{study.ConflictAttr: conflict})
	if err := attributes.write(tx); err != nil {
		return err
	}
	return &study.Nondeterminism{Number: number, First: first, Second: digest}
}
