package rdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"xlarun/studies/study"
)

// Updates implements study.Storage.
func (d *DB) Updates(s study.StudyID, after int64, listed, running []int64) ([]*study.FrozenTrial, error) {
	tx, err := d.read.BeginTx(context.Background(), &d.dialect.snapshot) // all queries see one state
	if err != nil {
		return nil, fmt.Errorf("storage %s: %w", d.at, d.at.explained(err))
	}
	all, err := news(d.readStatements.within(tx), d.dialect, s, after, listed, running)
	err = errors.Join(err, tx.Rollback())
	d.readStatements.learn()
	return all, err
}

// list returns IDs as a JSON list.
func list(ids []int64) string {
	text, _ := json.Marshal(append([]int64{}, ids...)) // numbers
	return string(text)
}

// news returns the trials that Updates returns, in the order of their IDs.
func news(tx *tx, dialect *dialect, s study.StudyID, after int64, listed,
	running []int64) (all []*study.FrozenTrial, err error) {
	ended, err := endedOf(tx, dialect, running)
	if err != nil {
		return nil, err
	}
	// Casts: see Add.
	which :=
		`(SELECT trial_id FROM trials WHERE study_id = CAST(?1 AS BIGINT) AND trial_id > CAST(?2 AS BIGINT) UNION ` +
			dialect.ids + `)`
	q := trialQuery{tx, which, []any{s, after, list(slices.Concat(listed, ended))}, map[int64]*study.FrozenTrial{}}
	if all, err = q.readTrials(); err != nil || len(all) == 0 {
		return nil, err
	}
	for _, read := range []func() error{q.readParams, q.readValues, q.readIntermediate, q.readAttributes} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// endedOf returns those of the running trials that run no more.
func endedOf(tx *tx, dialect *dialect, running []int64) (ended []int64, err error) {
	if len(running) == 0 {
		return nil, nil
	}
	err = each(tx, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ended = append(ended, id)
		return err
	}, `SELECT trial_id FROM trials WHERE trial_id IN (`+strings.Replace(dialect.ids, "?3", "?1", 1)+
		`) AND state != 'RUNNING'`, list(running))
	return ended, err
}

// trialQuery reads trials table by table.
type trialQuery struct {
	tx    *tx
	which string // the trials' IDs, a query with args
	args  []any
	by    map[int64]*study.FrozenTrial // the trials, by ID
}

// readTrials reads the trials themselves.
func (q *trialQuery) readTrials() (all []*study.FrozenTrial, err error) {
	err = each(q.tx, func(rows *sql.Rows) error {
		t := &study.FrozenTrial{Params: map[string]float64{}, Distributions: map[string]study.Distribution{},
			UserAttrs: map[string]json.RawMessage{}, SystemAttrs: map[string]json.RawMessage{}}
		var number sql.NullInt64
		var start, complete sql.NullString
		if err := rows.Scan(&t.ID, &number, &t.State, &start, &complete); err != nil {
			return err
		}
		t.Number, t.Start, t.Complete = number.Int64, timeOf(start), timeOf(complete)
		q.by[t.ID] = t
		all = append(all, t)
		return nil
	},
		`SELECT trial_id, number, state, CAST(datetime_start AS TEXT), CAST(datetime_complete AS TEXT) `+
			`FROM trials WHERE trial_id IN `+q.which+` ORDER BY trial_id`, q.args...)
	return all, err
}

func (q *trialQuery) readParams() error {
	distributions := map[string]study.Distribution{} // most trials have the same
	return each(q.tx, func(rows *sql.Rows) error {
		var id int64
		var name, text string
		var x sql.NullFloat64
		if err := rows.Scan(&id, &name, &x, &text); err != nil {
			return err
		}
		d, ok := distributions[text]
		if !ok {
			if err := json.Unmarshal([]byte(text), &d); err != nil {
				return fmt.Errorf("trial %d, parameter %s: %w", id, name, err)
			}
			distributions[text] = d
		}
		q.by[id].Params[name], q.by[id].Distributions[name] = x.Float64, d
		return nil
	}, `SELECT trial_id, param_name, param_value, distribution_json FROM trial_params WHERE trial_id IN `+q.which+
		` ORDER BY trial_id, param_id`, q.args...)
}

func (q *trialQuery) readValues() error {
	return each(q.tx, func(rows *sql.Rows) error {
		var id int64
		var x sql.NullFloat64
		var kind string
		if err := rows.Scan(&id, &x, &kind); err != nil {
			return err
		}
		q.by[id].Values = append(q.by[id].Values, numberFrom(x, kind))
		return nil
	}, `SELECT trial_id, value, value_type FROM trial_values WHERE trial_id IN `+q.which+` ORDER BY trial_id, objective`,
		q.args...)
}

func (q *trialQuery) readIntermediate() error {
	return each(q.tx, func(rows *sql.Rows) error {
		var id, step int64
		var x sql.NullFloat64
		var kind string
		if err := rows.Scan(&id, &step, &x, &kind); err != nil {
			return err
		}
		q.by[id].Intermediate = append(q.by[id].Intermediate,
			study.Reported{Step: step, Value: numberFrom(x, kind)})
		return nil
	},
		`SELECT trial_id, step, intermediate_value, intermediate_value_type `+
			`FROM trial_intermediate_values WHERE trial_id IN `+q.which+` ORDER BY trial_id, step`, q.args...)
}

func (q *trialQuery) readAttributes() error {
	for _, kind := range []string{"user", "system"} {
		if err := each(q.tx, func(rows *sql.Rows) error {
			var id int64
			var key, text string
			if err := rows.Scan(&id, &key, &text); err != nil {
				return err
			}
			attributes := q.by[id].UserAttrs
			if kind == "system" {
				attributes = q.by[id].SystemAttrs
			}
			attributes[key] = json.RawMessage(text)
			return nil
		}, `SELECT trial_id, "key", value_json FROM trial_`+kind+`_attributes WHERE trial_id IN `+q.which+
			` ORDER BY trial_id`, q.args...); err != nil {
			return err
		}
	}
	return nil
}
