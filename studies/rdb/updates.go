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

func news(tx *tx, dialect *dialect, s study.StudyID, after int64, listed,
	running []int64) (all []*study.FrozenTrial, err error) {
	if len(running) > 0 {
		listed = slices.Clone(listed)
		if err := each(tx, func(rows *sql.Rows) error {
			var id int64
			err := rows.Scan(&id)
			listed = append(listed, id)
			return err
		}, `SELECT trial_id FROM trials WHERE trial_id IN (`+strings.Replace(dialect.ids, "?3", "?1", 1)+
			`) AND state != 'RUNNING'`, list(running)); err != nil {
			return nil, err
		}
	}
	// Casts: see Add.
	which :=
		`(SELECT trial_id FROM trials WHERE study_id = CAST(?1 AS BIGINT) AND trial_id > CAST(?2 AS BIGINT) UNION ` +
			dialect.ids + `)`
	by := map[int64]*study.FrozenTrial{}
	args := []any{s, after, list(listed)}
	err = each(tx, func(rows *sql.Rows) error {
		t := &study.FrozenTrial{Params: map[string]float64{}, Distributions: map[string]study.Distribution{},
			UserAttrs: map[string]json.RawMessage{}, SystemAttrs: map[string]json.RawMessage{}}
		var number sql.NullInt64
		var start, complete sql.NullString
		if err := rows.Scan(&t.ID, &number, &t.State, &start, &complete); err != nil {
			return err
		}
		t.Number, t.Start, t.Complete = number.Int64, timeOf(start), timeOf(complete)
		by[t.ID] = t
		all = append(all, t)
		return nil
	},
		`SELECT trial_id, number, state, CAST(datetime_start AS TEXT), CAST(datetime_complete AS TEXT) `+
			`FROM trials WHERE trial_id IN `+which+` ORDER BY trial_id`, args...)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	distributions := map[string]study.Distribution{} // most trials have the same
	if err := each(tx, func(rows *sql.Rows) error {
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
		by[id].Params[name], by[id].Distributions[name] = x.Float64, d
		return nil
	}, `SELECT trial_id, param_name, param_value, distribution_json FROM trial_params WHERE trial_id IN `+which+
		` ORDER BY trial_id, param_id`, args...); err != nil {
		return nil, err
	}
	if err := each(tx, func(rows *sql.Rows) error {
		var id int64
		var x sql.NullFloat64
		var kind string
		err := rows.Scan(&id, &x, &kind)
		if err == nil {
			by[id].Values = append(by[id].Values, numberFrom(x, kind))
		}
		return err
	}, `SELECT trial_id, value, value_type FROM trial_values WHERE trial_id IN `+which+` ORDER BY trial_id, objective`,
		args...); err != nil {
		return nil, err
	}
	if err := each(tx, func(rows *sql.Rows) error {
		var id, step int64
		var x sql.NullFloat64
		var kind string
		err := rows.Scan(&id, &step, &x, &kind)
		if err == nil {
			by[id].Intermediate = append(by[id].Intermediate, study.Reported{Step: step, Value: numberFrom(x, kind)})
		}
		return err
	},
		`SELECT trial_id, step, intermediate_value, intermediate_value_type `+
			`FROM trial_intermediate_values WHERE trial_id IN `+which+` ORDER BY trial_id, step`, args...); err != nil {
		return nil, err
	}
	for _, table := range []string{"user", "system"} {
		if err := each(tx, func(rows *sql.Rows) error {
			var id int64
			var key, text string
			err := rows.Scan(&id, &key, &text)
			if err != nil {
				return err
			}
			if table == "user" {
				by[id].UserAttrs[key] = json.RawMessage(text)
			} else {
				by[id].SystemAttrs[key] = json.RawMessage(text)
			}
			return nil
		}, `SELECT trial_id, "key", value_json FROM trial_`+table+`_attributes WHERE trial_id IN `+which+
			` ORDER BY trial_id`, args...); err != nil {
			return nil, err
		}
	}
	return all, nil
}
