package evolve

import (
	"context"

	"xlarun/graph"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// feature is a part of a run beside its search. A run has its features in the order of the table, and calls them one
// after the other. What a feature does not need it has from idle.
type feature interface {
	// begin comes before each generation. If the round that it returns is not nil, others have computed it.
	begin(ctx context.Context, e *Evolution) (done *run.Metrics, err error)
	// after comes after each generation. It may change the metrics, and replace the search.
	after(ctx context.Context, e *Evolution, m *run.Metrics) error
	// shape returns the settings of the search that the feature wants, from those of the run or of the feature before.
	shape(c Config) (Config, error)
	// replaced comes after the search was replaced by one whose members may have other shapes.
	replaced(e *Evolution) error
	// save adds the feature's state to a snapshot. load takes it from there, before the search is restored, and reports
	// whether the feature wants another search now.
	save(arrays map[string]*graph.Array)
	load(s run.Snapshot) (other bool, err error)
	// files returns further files of a snapshot, and ending what the feature adds to the sentence that sums the run up.
	files(s run.Snapshot) ([]run.File, error)
	ending(e *Evolution, last run.Metrics) string
	// earlier returns what takes the rounds that a resumed run's folder has; nil: they are not read for the feature.
	earlier() func(rounds []run.Metrics)
	close() error
}

// idle is a feature that does nothing.
type idle struct{}

func (idle) begin(context.Context, *Evolution) (*run.Metrics, error) { return nil, nil }
func (idle) after(context.Context, *Evolution, *run.Metrics) error   { return nil }
func (idle) shape(c Config) (Config, error)                          { return c, nil }
func (idle) replaced(*Evolution) error                               { return nil }
func (idle) save(map[string]*graph.Array)                            {}
func (idle) load(run.Snapshot) (bool, error)                         { return false, nil }
func (idle) files(run.Snapshot) ([]run.File, error)                  { return nil, nil }
func (idle) ending(*Evolution, run.Metrics) string                   { return "" }
func (idle) earlier() func([]run.Metrics)                            { return nil }
func (idle) close() error                                            { return nil }

// part is a row of the table of features.
type part struct {
	setting string // that turns the feature on
	on      func(c *Config) bool
	prefix  string // of its arrays in a snapshot; "": it has none
	kept    bool   // its arrays may be in a snapshot of a run without it
	shares  bool   // it exchanges data with other processes
	// check finds the first mistake in the feature's settings, also where it is off; nil: there can be none.
	check func(c *Config) error
	// measures are the names of its metrics, and board its rows of a display.
	measures []string
	board    func(c *Config) []run.DisplayRow
	// open is nil for what is a part of the program, or of how that is started.
	open func(ctx context.Context, e *Evolution) (feature, error)
}

// parts are all features, in the order in which a run calls them.
var parts = []part{
	{setting: "validation-target", on: func(c *Config) bool { return c.ValidationTarget != 0 },
		check: (*Config).checkValidation, measures: []string{validationReturn, validationError},
		board: (*Config).validationBoard, open: openValidation},
	{setting: "patience", on: func(c *Config) bool { return c.Patience > 0 }, prefix: patiencePrefix, kept: true,
		open: openPatience},
	{setting: "restarts", on: (*Config).restarts, prefix: restartsPrefix, check: (*Config).checkRestarts,
		measures: []string{"population", "restarts"}, open: openRestarts},
	{setting: "grow", on: func(c *Config) bool { return c.Grow }, prefix: capacityPrefix, check: (*Config).checkGrow,
		measures: []string{capacityNodes, capacityConnections}, open: openGrowth},
	{setting: "island", on: func(c *Config) bool { return c.Island != "" }, prefix: poolPrefix, shares: true,
		check: (*Config).checkPool, open: openIsland},
	{setting: "join", on: (*Config).hosted, shares: true, check: (*Config).checkHosts,
		board: (*Config).hostsBoard, open: openHosts},
	{setting: "normalize-observations", on: func(c *Config) bool { return c.NormalizeObservations }},
}

// conflict says that two features do not work together: what the first one's setting wants instead, and why.
type conflict struct{ setting, other, wants string }

// lane stands for a search that is one of many in a program, as the other of a conflict.
const lane = "lane"

// conflicts are all of them. Everything else works together.
var conflicts = []conflict{
	{"restarts", "island", "none: an island starts once"},
	{"normalize-observations", "island", "false: each island would normalize observations by statistics of its own, " +
		"and a member that travels would see another world"},
	{"grow", "join", "no --join with it: hosts compute one program"},
	{"restarts", lane, "none: vectorized searches start once"},
	{"grow", lane, "false: vectorized searches have one program"},
	{"validation-target", lane, "0: vectorized searches hold no validations"},
	{"join", lane, "none: vectorized searches run in one process"},
	{"island", lane, "none: vectorized searches share no folder"},
}

// checkTogether refuses features that do not work together, or not in a lane.
func (c *Config) checkTogether(asLane bool) error {
	on := map[string]bool{lane: asLane}
	for _, p := range parts {
		on[p.setting] = p.on(c)
	}
	for _, x := range conflicts {
		if on[x.setting] && on[x.other] {
			f, _ := settings.Lookup(c, x.setting)
			return settings.Wrong(x.setting, f.Value(), "%s", x.wants)
		}
	}
	return nil
}

// openFeatures opens the features of a run's settings. A run that is alone has none that share.
func (e *Evolution) openFeatures(ctx context.Context, alone bool) error {
	for _, p := range parts {
		if p.open == nil || !p.on(&e.config) || alone && p.shares {
			continue
		}
		f, err := p.open(ctx, e)
		if err != nil {
			return err
		}
		e.features = append(e.features, f)
	}
	return nil
}

// others returns the prefixes of the arrays in a snapshot that do not belong to the search.
func (c *Config) others() (prefixes []string) {
	for _, p := range parts {
		if p.prefix != "" && (p.kept || p.on(c)) {
			prefixes = append(prefixes, p.prefix)
		}
	}
	return prefixes
}

// Measures lists the names of a run's metrics.
func (c *Config) Measures() []string {
	names := c.Search.Measures()
	for _, p := range parts {
		if p.on(c) {
			names = append(names, p.measures...)
		}
	}
	return names
}

// Board returns the rows of a display: those of the search and of the features.
func (c *Config) Board() []run.DisplayRow {
	rows := c.Search.Board()
	for _, p := range parts {
		if p.board != nil && p.on(c) {
			rows = append(rows, p.board(c)...)
		}
	}
	return rows
}
