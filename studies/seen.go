package studies

import "slices"

// Seen are the workers that were heard of, with the trials that they run now. It may be called while the study runs.
func (c *Coordinator) Seen() []Seen {
	d := c.shown.Load()
	if d == nil {
		return nil
	}
	all := d.seen()
	d.mu.Lock()
	defer d.mu.Unlock()
	for trial, l := range d.leases {
		if i := slices.IndexFunc(all, func(s Seen) bool { return s.ID == l.Worker }); i >= 0 && d.alive(l) {
			all[i].Leased = append(all[i].Leased, trial)
		}
	}
	for i := range all {
		slices.Sort(all[i].Leased)
	}
	return all
}
