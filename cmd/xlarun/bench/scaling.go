package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/bench/neurobench"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
	"xlarun/rollout/plan"
)

type scalingFlags struct {
	commonFlags
	tune   string
	quick  bool
	budget time.Duration
	row    int
}

// scalingFlat is how much more than the cheapest of its axis a member's step may cost where its work is the same.
const scalingFlat = 1.15

// scalingRow is one row of the table.
type scalingRow struct {
	Axis       string  `json:"axis"`
	At         string  `json:"at"`
	Policy     string  `json:"policy"`
	Population int     `json:"population"`
	Episodes   int     `json:"episodes"`
	Steps      int     `json:"steps"`
	Devices    int     `json:"devices"`
	Rate       float64 `json:"steps_per_second"`
	// Compile are seconds to trace and compile, Peak the most resident memory of a process of its own that compiled and ran it.
	Compile float64 `json:"compile_seconds"`
	Peak    int64   `json:"peak_bytes"`
	// Cost is the processor time of a member's step, of all devices together, in seconds; Relative the same over that of the cheapest row of
	// the axis, where the work of a member's step is the same, else 0.
	Cost     float64 `json:"member_step_seconds"`
	Relative float64 `json:"relative,omitempty"`
	Plan     string  `json:"plan"`
}

func scalingCommand(h *host) *cobra.Command {
	var o scalingFlags
	cmd := &cobra.Command{
		Use: "scaling", Short: "Table speed, memory and compile time from small populations and networks to large ones",
		Long: "Bench scaling plays CartPole with populations of 256 to 262,144, of 1 to 256 episodes a member, of hidden layers 16 to 1024 wide,\n" +
			"of block-sparse ones, and on 1 to all devices: steps a second, time to trace and compile with nothing cached, and peak memory of a\n" +
			"process of its own for each row. The cost of a member's step is processor time; where the work is the same it is compared with\n" +
			fmt.Sprintf("the cheapest row's, and should be at most %g times as much.", scalingFlat),
		Example: "  xlarun bench scaling\n  xlarun bench scaling --quick --json", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if err := checkTune(o.tune); err != nil {
				return err
			}
			if o.Backend == console.Reference {
				return console.BadInput("bench scaling got the backend %s, which compiles nothing: use another backend", console.Reference)
			}
			if o.budget <= 0 {
				return console.BadInput("--budget got %v, wants a time above 0, as 9m", o.budget)
			}
			if o.row >= 0 {
				return scalingOne(cmd.Context(), h, o)
			}
			return scale(cmd.Context(), h, o)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.AddDevices(f)
	f.IntVar(&o.repeats, "repeats", 3, "runs of a row, of which the median counts")
	f.StringVar(&o.tune, "tune", plan.TuneOff, "how plans are chosen: "+strings.Join(plan.Tunes(), ", "))
	f.BoolVar(&o.quick, "quick", false, "every other row")
	f.DurationVar(&o.budget, "budget", 9*time.Minute, "time after which no further row is begun")
	o.addJSON(f)
	f.IntVar(&o.row, "row", -1, "measure one row in this process")
	_ = f.MarkHidden("row")
	return cmd
}

// scalingOne is what each row runs in.
func scalingOne(ctx context.Context, h *host, o scalingFlags) error {
	rows := neurobench.Scaling(max(1, o.Expect()), o.quick)
	if o.row >= len(rows) {
		return console.BadInput("--row got %d, there are %d rows", o.row, len(rows))
	}
	s := rows[o.row]
	o.Devices = s.Devices
	b, err := h.open(ctx, o.BackendFlags)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	p, err := neurobench.OpenPlay(b, s.Experiment(o.tune))
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	if _, _, err := p.Run(1); err != nil {
		return err
	}
	var seconds, processor []float64
	for range o.repeats {
		before := processorTime(b)
		once, _, err := p.Run(1)
		if err != nil {
			return err
		}
		seconds, processor = append(seconds, once...), append(processor, (processorTime(b)-before).Seconds())
	}
	r := scalingRow{Axis: s.Axis, At: s.At, Policy: s.Policy, Population: s.Population, Episodes: s.Episodes, Steps: s.Steps, Devices: s.Devices,
		Rate: s.Work() / machine.Median(seconds), Compile: p.Compile, Cost: machine.Median(processor) / s.Work(), Plan: p.Plan()}
	if r.Peak, err = peakSoFar(); err != nil {
		return err
	}
	return h.PrintJSON(r)
}

// scale measures the rows, each in a process of its own with an empty cache, while there is time.
func scale(ctx context.Context, h *host, o scalingFlags) error {
	all := neurobench.Scaling(max(1, o.Expect()), o.quick)
	started := h.now()
	var rows []scalingRow
	for i, s := range all {
		if h.now().Sub(started) > o.budget {
			fmt.Fprintf(h.Out, "--budget %v is over: %d of %d rows are left out\n", o.budget, len(all)-i, len(all))
			break
		}
		fmt.Fprintf(h.Err, "%s %s\n", s.Axis, s.At)
		r, err := ownRow(ctx, o, i)
		if err != nil {
			return fmt.Errorf("%s %s: %w", s.Axis, s.At, err)
		}
		rows = append(rows, r)
	}
	relate(rows, func(axis string) bool {
		return slices.ContainsFunc(all, func(s neurobench.Scaled) bool { return s.Axis == axis && s.Same })
	})
	t := tabwriter.NewWriter(h.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "AXIS\t\tPOLICY\tMEMBERS\tEPISODES\tSTEPS\tDEVICES\tSTEPS/S\tCOMPILE\tPEAK MEMORY\tCOST\tTIMES THE CHEAPEST\tPLAN")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%.3g\t%s\t%s\t%.0f ns\t%s\t%s\n", r.Axis, r.At, r.Policy, r.Population, r.Episodes, r.Steps, r.Devices, r.Rate,
			console.ShortTime(r.Compile), bytesText(&r.Peak), r.Cost*1e9, ratioText(r.Relative), r.Plan)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		if r.Relative > scalingFlat {
			fmt.Fprintf(h.Out, "%s %s: a member's step costs %.2f times the cheapest (wanted: at most %g)\n", r.Axis, r.At, r.Relative, scalingFlat)
		}
	}
	if o.json {
		return h.PrintJSON(map[string]any{"rows": rows})
	}
	return nil
}

// relate compares the costs of the axes along which the work of a member's step is the same.
func relate(rows []scalingRow, same func(axis string) bool) {
	least := map[string]float64{}
	for _, r := range rows {
		if c, ok := least[r.Axis]; same(r.Axis) && (!ok || r.Cost < c) {
			least[r.Axis] = r.Cost
		}
	}
	for i, r := range rows {
		if c := least[r.Axis]; c > 0 {
			rows[i].Relative = r.Cost / c
		}
	}
}

// ownRow measures row i in a process of its own.
func ownRow(ctx context.Context, o scalingFlags, i int) (r scalingRow, err error) {
	cache, remove, err := scratchCache()
	if err != nil {
		return r, err
	}
	defer remove()
	args := []string{"bench", "scaling", "--row", strconv.Itoa(i), "--tune", o.tune, "--repeats", strconv.Itoa(o.repeats), "--devices", strconv.Itoa(o.Devices)}
	if o.quick {
		args = append(args, "--quick")
	}
	cmd, err := ownProcess(ctx, o.BackendFlags, cache, args...)
	if err != nil {
		return r, err
	}
	out, err := outputOf(cmd)
	if err != nil {
		return r, err
	}
	line, err := bufio.NewReader(strings.NewReader(out)).ReadBytes('\n')
	if err != nil {
		return r, fmt.Errorf("a process of our own printed %q, not a line of JSON", out)
	}
	return r, json.Unmarshal(line, &r)
}
