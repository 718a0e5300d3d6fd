package rdb

// Beat writes heartbeats of running trials, as Optuna does. Trials that do not run get none.
func (d *DB) Beat(trials ...int64) error {
	if len(trials) == 0 {
		return nil
	}
	return d.do(func(tx *tx) error {
		for _, trial := range trials {
			if _, err := tx.Exec(`INSERT INTO trial_heartbeats (trial_id, heartbeat) SELECT trial_id, `+
				d.dialect.instant+
				` FROM trials WHERE trial_id = ?1 AND state = 'RUNNING'
				ON CONFLICT (trial_id) DO UPDATE SET heartbeat = excluded.heartbeat`, trial,
				d.now().UTC().Format(timeFormat)); err != nil {
				return err
			}
		}
		return nil
	})
}

// EndBeat removes the heartbeat of a trial that nobody runs any more.
func (d *DB) EndBeat(trial int64) error {
	return d.do(func(tx *tx) error {
		_, err := tx.Exec(`DELETE FROM trial_heartbeats WHERE trial_id = ?`, trial)
		return err
	})
}
