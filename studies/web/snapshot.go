package web

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"xlarun/studies"
	"xlarun/studies/study"
)

// Limits of the data: learning curves of the best and of the newest trials, and points per curve.
const (
	bestCurves   = 60
	newestCurves = 140
	curvePoints  = 120
)

// snapshot is all that the page shows of a study, as JSON.
type snapshot struct {
	Study       string            `json:"study"`
	Storage     string            `json:"storage"`
	Metrics     []string          `json:"metrics"` // names of the objectives
	Directions  []study.Direction `json:"directions"`
	Wanted      int               `json:"wanted,omitempty"` // trials; 0: not known
	About       string            `json:"about,omitempty"`
	Trials      []trial           `json:"trials"`
	Curves      []curve           `json:"curves"`
	Space       []param           `json:"space"`
	Importances [][]share         `json:"importances"` // of each objective
	Best        []int64           `json:"best"`        // numbers of the best trials
}

type trial struct {
	Number  int64           `json:"n"`
	State   study.State     `json:"state"`
	Values  []studies.Value `json:"values"`
	Params  map[string]any  `json:"params"`
	Start   int64           `json:"start,omitempty"`   // ms since 1970
	Seconds float64         `json:"seconds,omitempty"` // that it took
	Step    *int64          `json:"step,omitempty"`    // the last reported, of one that is not complete
	Last    *studies.Value  `json:"last,omitempty"`    // the value of that
	Reason  string          `json:"reason,omitempty"`
	Foreign bool            `json:"foreign,omitempty"`
	Left    bool            `json:"left,omitempty"`    // it runs by the database, and nobody runs it
	Broken  bool            `json:"broken,omitempty"`  // it does not keep its constraints
	Differs bool            `json:"differs,omitempty"` // two results that are not equal
}

type curve struct {
	Number int64           `json:"n"`
	Steps  []int64         `json:"steps"`
	Values []studies.Value `json:"values"`
}

type param struct {
	Name    string  `json:"name"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Log     bool    `json:"log,omitempty"`
	Choices []any   `json:"choices,omitempty"` // as in trial.Params
}

type share struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
	Error float64 `json:"error"` // standard error
}

type worker struct {
	ID      string  `json:"id"`
	Trials  []int64 `json:"trials"`
	Threads int     `json:"threads"`
	Done    int     `json:"done"`
	Silent  int     `json:"silent"` // seconds since it was heard of
}

// picture returns the snapshot of a study; spec may be nil. metrics are the names of the objectives.
func picture(st *study.Study, storage string, spec *studies.Spec, metrics []string,
	trials []*study.FrozenTrial) *snapshot {
	s := &snapshot{Study: st.Name, Storage: storage, Directions: st.Directions(), Trials: make([]trial, 0, len(trials)),
		Metrics: metrics, Curves: []curve{}, Best: []int64{}}
	if spec != nil {
		s.Wanted = spec.Trials
		s.About = spec.Kind + ", sampler " + spec.Sampler + ", pruner " + spec.Pruner
	}
	for _, t := range trials {
		s.Trials = append(s.Trials, pictured(t))
	}
	s.Space = spaceOf(trials)
	for i := range s.Directions {
		shares := []share{}
		for _, x := range study.Importances(trials, i) {
			shares = append(shares, share(x))
		}
		s.Importances = append(s.Importances, shares)
	}
	for _, t := range study.Best(trials, s.Directions) {
		s.Best = append(s.Best, t.Number)
	}
	s.Curves = append(s.Curves, curvesOf(trials, s.Directions[0])...)
	return s
}

func pictured(t *study.FrozenTrial) trial {
	_, differs := study.System[study.Conflict](t, study.ConflictAttr)
	out := trial{Number: t.Number, State: t.State, Values: studies.Values(t.Values), Params: map[string]any{},
		Reason: studies.Reason(t), Differs: differs, Broken: !t.Feasible(),
		Foreign: t.SystemAttrs[study.SeesAttr] == nil && t.State != study.Waiting}
	for name, x := range t.External() {
		out.Params[name] = studies.ParamValue(x)
	}
	if !t.Start.IsZero() {
		out.Start = t.Start.UnixMilli()
		if !t.Complete.IsZero() {
			out.Seconds = t.Complete.Sub(t.Start).Seconds()
		}
	}
	if n := len(t.Intermediate); n > 0 && t.State != study.Complete {
		last := studies.Value(t.Intermediate[n-1].Value)
		out.Step, out.Last = &t.Intermediate[n-1].Step, &last
	}
	return out
}

// spaceOf returns the parameters of trials with the bounds of all their distributions, by name.
func spaceOf(trials []*study.FrozenTrial) []param {
	all := map[string]param{}
	for _, t := range trials {
		for name, d := range t.Distributions {
			p, has := all[name]
			switch {
			case d.Kind == study.Categorical && len(d.Choices) > len(p.Choices):
				p = param{Name: name}
				for i := range d.Choices {
					p.Choices = append(p.Choices, studies.ParamValue(d.Value(float64(i))))
				}
			case d.Kind == study.Categorical:
			case !has:
				p = param{Name: name, Low: d.Low, High: d.High, Log: d.Log}
			default:
				p.Low, p.High, p.Log = min(p.Low, d.Low), max(p.High, d.High), p.Log && d.Log
			}
			all[name] = p
		}
	}
	out := []param{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[name])
	}
	return out
}

// curvesOf returns the reports of the best and the newest trials, by number.
func curvesOf(trials []*study.FrozenTrial, d study.Direction) (all []curve) {
	var with []*study.FrozenTrial
	for _, t := range trials {
		if len(t.Intermediate) > 0 {
			with = append(with, t)
		}
	}
	take := map[int64]bool{}
	for _, t := range with[max(0, len(with)-newestCurves):] {
		take[t.Number] = true
	}
	ranked := slices.DeleteFunc(slices.Clone(with), func(t *study.FrozenTrial) bool {
		return t.State != study.Complete || len(t.Values) == 0
	})
	slices.SortStableFunc(ranked, func(a, b *study.FrozenTrial) int {
		if d == study.Maximize {
			a, b = b, a
		}
		return cmp.Compare(a.Values[0], b.Values[0])
	})
	for _, t := range ranked[:min(bestCurves, len(ranked))] {
		take[t.Number] = true
	}
	for _, t := range with {
		if !take[t.Number] {
			continue
		}
		c := curve{Number: t.Number}
		n := len(t.Intermediate)
		for i := range min(n, curvePoints) { // the first and the last stay
			r := t.Intermediate[i*(n-1)/max(1, min(n, curvePoints)-1)]
			c.Steps, c.Values = append(c.Steps, r.Step), append(c.Values, studies.Value(r.Value))
		}
		all = append(all, c)
	}
	return all
}

// at returns the workers; trials maps IDs to numbers.
func at(now time.Time, seen []studies.WorkerStatus, trials map[int64]int64) []worker {
	all := []worker{}
	for _, w := range seen {
		out := worker{ID: w.ID, Trials: []int64{}, Threads: w.Threads, Done: w.Done,
			Silent: int(now.Sub(w.LastSeen).Seconds())}
		for _, id := range w.Leased {
			if number, ok := trials[id]; ok {
				out.Trials = append(out.Trials, number)
			}
		}
		all = append(all, out)
	}
	slices.SortFunc(all, func(a, b worker) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
