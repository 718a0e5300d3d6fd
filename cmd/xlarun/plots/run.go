package plots

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run/runfolder"
)

// savedRun is the content of a run's folder.
type savedRun struct {
	dir      string
	kind     string
	settings map[string]string // by full name, "strategy.sigma"
	unit     string            // name of the step, the first number of each row
	steps    []float64
	metrics  []string           // in the order of the rows
	columns  map[string]*column // by metric
}

// column holds a metric. Some metrics are not measured in every row.
type column struct {
	rows   []int     // that have it
	values []float64 // NaN where the row has null
}

// readRun reads the folder of a run. The run may be in progress.
func readRun(dir string) (*savedRun, error) {
	folder, err := runfolder.Read(dir, runfolder.Options{})
	if err != nil {
		return nil, console.BadInput("%s is no folder of a run (%w): give what the run named at its end", dir, err)
	}
	defer func() { _ = folder.Close() }()
	r := &savedRun{dir: dir, settings: map[string]string{},
		columns: map[string]*column{}}
	text, err := folder.ReadFile("config.toml")
	if err != nil {
		return nil, console.BadInput("%s: config.toml cannot be read (%w): give the folder of a run", dir,
			console.Cause(err))
	}
	var config map[string]any
	if err := toml.Unmarshal(text, &config); err != nil {
		return nil, console.BadInput("%s: config.toml is no TOML (%w): take it from a copy, or leave the run out", dir,
			err)
	}
	r.kind, _ = config["kind"].(string)
	flatten(r.settings, "", config)
	rows, err := folder.ReadFile("metrics.jsonl")
	if err != nil {
		return nil, console.BadInput("%s: metrics.jsonl cannot be read (%w): wait for the run's first round", dir,
			console.Cause(err))
	}
	for i, row := range bytes.SplitAfter(rows, []byte{'\n'}) {
		if !bytes.HasSuffix(row, []byte{'\n'}) {
			break // the run is writing it
		}
		if err := r.addRow(row); err != nil {
			return nil, console.BadInput("%s: row %d of metrics.jsonl is damaged (%w): leave the run out", dir, i+1,
				err)
		}
	}
	if len(r.steps) == 0 {
		return nil, console.BadInput("%s: metrics.jsonl has no rows: wait for the run's first round", dir)
	}
	return r, nil
}

// flatten stores the values of a config under the names of their flags. The flag "strategy" holds the key
// "strategy.name".
func flatten(to map[string]string, prefix string, table map[string]any) {
	for key, value := range table {
		switch v := value.(type) {
		case map[string]any:
			flatten(to, prefix+key+".", v)
		default:
			name := strings.TrimSuffix(prefix+key, ".name")
			to[name] = fmt.Sprint(v)
		}
	}
}

// addRow reads a line of metrics.jsonl.
func (r *savedRun) addRow(row []byte) error {
	values, err := runfolder.ReadRow(row)
	if err != nil {
		return err
	}
	step := values[0]
	if r.unit == "" {
		r.unit = step.Name
	}
	if step.Name != r.unit || !(step.Number > r.last()) {
		return fmt.Errorf("its %s is not above that of the row before", r.unit)
	}
	r.steps = append(r.steps, step.Number)
	for _, v := range values[1:] {
		c := r.columns[v.Name]
		if c == nil {
			c = &column{}
			r.columns[v.Name], r.metrics = c, append(r.metrics, v.Name)
		}
		c.rows, c.values = append(c.rows, len(r.steps)-1), append(c.values, v.Number)
	}
	return nil
}

func (r *savedRun) last() float64 {
	if len(r.steps) == 0 {
		return math.Inf(-1)
	}
	return r.steps[len(r.steps)-1]
}

// column returns a metric's values, or the steps, one for each row; NaN if the row has no number.
func (r *savedRun) column(name string) ([]float64, bool) {
	if name == r.unit {
		return r.steps, true
	}
	c, ok := r.columns[name]
	if !ok {
		return nil, false
	}
	all := slices.Repeat([]float64{math.NaN()}, len(r.steps))
	for i, row := range c.rows {
		all[row] = c.values[i]
	}
	return all, true
}

// points returns the rows in which both metrics are numbers and x grows.
func (r *savedRun) points(x, y string) (xs, ys []float64) {
	all, _ := r.column(x)
	values, _ := r.column(y)
	for i, position := range all {
		if math.IsNaN(position) || math.IsNaN(values[i]) || len(xs) > 0 && position <= xs[len(xs)-1] {
			continue
		}
		xs, ys = append(xs, position), append(ys, values[i])
	}
	return xs, ys
}
