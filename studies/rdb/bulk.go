package rdb

import (
	"database/sql"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"xlarun/studies/study"
)

// rowsAtOnce is the highest number of rows in one statement. Fewer rows are written a quarter of that at a time, and so
// on, so that there are few texts to prepare.
const rowsAtOnce = 64

// batches calls do with up to rowsAtOnce rows at a time.
func batches(columns int, values []any, do func(n int, values []any) error) error {
	for n := rowsAtOnce; len(values) > 0; {
		for n*columns > len(values) {
			n /= 4
		}
		if err := do(n, values[:n*columns]); err != nil {
			return err
		}
		values = values[n*columns:]
	}
	return nil
}

// marks returns the placeholders for n rows.
func marks(columns, n int) string {
	row := "(?" + strings.Repeat(", ?", columns-1) + ")"
	return row + strings.Repeat(", "+row, n-1)
}

// insert inserts rows into a table.
func insert(tx *tx, table, columns, conflict string, values []any) error {
	wide := strings.Count(columns, ",") + 1
	return batches(wide, values, func(n int, some []any) error {
		_, err := tx.Exec(`INSERT INTO `+table+` (`+columns+`) VALUES `+marks(wide, n)+` `+conflict, some...)
		return err
	})
}

// addTrials writes trials, numbered from next, with everything that belongs to them.
func addTrials(tx *tx, s study.StudyID, next int64, trials []*study.FrozenTrial) error {
	byNumber := map[int64]*study.FrozenTrial{}
	var values []any
	for i, t := range trials {
		t.Number = next + int64(i)
		byNumber[t.Number] = t
		values = append(values, t.Number, s, string(t.State), timeText(t.Start), timeText(t.Complete))
	}
	const columns = 5
	err := batches(columns, values, func(n int, some []any) error {
		return each(tx, func(rows *sql.Rows) error {
			var id, number int64
			err := rows.Scan(&id, &number)
			if err == nil {
				byNumber[number].ID = id
			}
			return err
		}, `INSERT INTO trials (number, study_id, state, datetime_start, datetime_complete) VALUES `+marks(columns, n)+
			` RETURNING trial_id, number`, some...)
	})
	if err != nil {
		return err
	}
	if err := writeParams(tx, trials...); err != nil {
		return err
	}
	var over numbers
	for _, t := range trials {
		if t.State.Finished() {
			over.add(t.ID, t.Values, t.Intermediate)
		}
	}
	return over.write(tx)
}

// attrs collects attributes to be written.
type attrs struct{ user, system []any }

func (a *attrs) add(trial int64, user, system map[string]json.RawMessage) {
	for _, key := range sorted(user) {
		a.user = append(a.user, trial, key, string(user[key]))
	}
	for _, key := range sorted(system) {
		a.system = append(a.system, trial, key, string(system[key]))
	}
}

func (a *attrs) write(tx *tx) error {
	for table, values := range map[string][]any{"user": a.user, "system": a.system} {
		err := insert(tx, "trial_"+table+"_attributes", `trial_id, "key", value_json`,
			`ON CONFLICT (trial_id, "key") DO UPDATE SET value_json = excluded.value_json`, values)
		if err != nil {
			return err
		}
	}
	return nil
}

// SetTrialAttrs sets a system attribute of trials.
func (d *DB) SetTrialAttrs(key string, values map[int64]json.RawMessage) error {
	return d.do(func(tx *tx) error {
		var all attrs
		for trial, value := range values {
			all.add(trial, nil, map[string]json.RawMessage{key: value})
		}
		return all.write(tx)
	})
}

// numbers collects values and reports to be written.
type numbers struct{ values, reports []any }

func (n *numbers) add(trial int64, values []float64, reports []study.Reported) {
	for i, x := range values {
		value, kind := numberOf(x)
		n.values = append(n.values, trial, i, value, kind)
	}
	for _, r := range reports {
		value, kind := numberOf(r.Value)
		n.reports = append(n.reports, trial, r.Step, value, kind)
	}
}

func (n *numbers) write(tx *tx) error {
	return errors.Join(
		insert(tx, "trial_values", "trial_id, objective, value, value_type", "ON CONFLICT DO NOTHING", n.values),
		insert(tx, "trial_intermediate_values", "trial_id, step, intermediate_value, intermediate_value_type",
			"ON CONFLICT DO NOTHING", n.reports))
}

// writeParams writes new parameters, and the attributes.
func writeParams(tx *tx, trials ...*study.FrozenTrial) error {
	type written struct {
		distribution study.Distribution
		text         string
	}
	before := map[string]written{} // by name: most trials have the same
	var values []any
	var attributes attrs
	for _, t := range trials {
		for _, name := range sorted(t.Params) {
			d, known := t.Distributions[name], before[name]
			if known.text == "" || !reflect.DeepEqual(known.distribution, d) {
				text, err := json.Marshal(d)
				if err != nil {
					return err
				}
				known = written{d, string(text)}
				before[name] = known
			}
			values = append(values, t.ID, name, t.Params[name], known.text)
		}
		attributes.add(t.ID, t.UserAttrs, t.SystemAttrs)
	}
	if err := insert(tx, "trial_params", "trial_id, param_name, param_value, distribution_json",
		"ON CONFLICT DO NOTHING", values); err != nil {
		return err
	}
	return attributes.write(tx)
}
