package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"xlarun/cmd/xlarun-bench/bench/aotbench"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/xlabridge"
	"xlarun/xlabridge/plugin"
	"xlarun/xlabridge/topology"
)

// Lines around the table of what was measured in docs/notes/accelerators.md.
const (
	measuredBegin = "<!-- measured -->"
	measuredEnd   = "<!-- end of measured -->"
)

// here returns the devices of this machine that rows are run on, as a target. Its Backend is "" if the user named none.
// The programs are also compiled for the same devices as if they were not there, to compare what was predicted.
func (o *aotFlags) here(ctx context.Context, h *host) (none topology.Topology, err error) {
	switch {
	case o.backend == "" && o.write != "":
		return none, console.BadInput("--write got %q without --backend: nothing is measured then", o.write)
	case o.backend == "":
		return none, nil
	case !slices.Contains(plugin.Backends, o.backend):
		return none, console.BadInput("--backend got %q, wants one of %s%s", o.backend,
			strings.Join(plugin.Backends, ", "), console.LikeBackend(o.backend, plugin.Backends))
	}
	b, err := h.open(ctx, console.BackendFlags{Backend: o.backend})
	if err != nil {
		return none, err
	}
	defer func() { _ = b.Close() }()
	c, ok := b.(*xlabridge.Client)
	if !ok {
		return none, fmt.Errorf("the backend %s has no devices", o.backend)
	}
	on, ok := topology.OfKind(c.DeviceKind(), c.NumDevices())
	if !ok {
		return none, fmt.Errorf("third_party/topologies.toml has no topology of %d %s: enter its figures, or leave "+
			"--backend out", c.NumDevices(), c.DeviceKind())
	}
	o.topologies = []string{on.Name}
	return on, nil
}

// writeMeasured writes the table of what was measured into a page.
func writeMeasured(page string, on topology.Topology, rows []aotRow) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := bytes.Index(text, []byte(measuredBegin)), bytes.Index(text, []byte(measuredEnd))
	if begin < 0 || end < begin {
		return fmt.Errorf("%s has no lines %s and %s, between which the table is written", page, measuredBegin,
			measuredEnd)
	}
	out := append(slices.Clone(text[:begin+len(measuredBegin)]), measuredTable(on, rows)...)
	return os.WriteFile(page, append(out, text[end:]...), 0o644)
}

// measuredTexts are the memory that was most in use and the time of a round, or dashes.
func measuredTexts(d *aotbench.OnDevice) (peak, round string) {
	peak, round = "–", "–"
	if d.Peak > 0 {
		peak = display.Bytes(d.Peak)
	}
	if d.Round > 0 {
		round = console.ShortTime(d.Round)
	}
	return peak, round
}

// measuredTable compares predicted and measured kernels and memory, row by row.
func measuredTable(on topology.Topology, rows []aotRow) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n\n| on %s (%s) | kernels: predicted, compiled there | temporary memory | most in use | a "+
		"round |\n"+
		"| --- | --- | --- | --- | --- |\n", on.Name, on.Kind)
	for _, r := range rows {
		for _, x := range r.Results {
			if d := x.Device; d != nil {
				peak, round := measuredTexts(d)
				fmt.Fprintf(&b, "| %s | %.4g, %.4g | %s, %s | %s | %s |\n", r.What, x.Kernels, d.Kernels,
					display.Bytes(x.Temporaries), display.Bytes(d.Temporaries), peak, round)
			}
		}
	}
	b.WriteString("\n")
	return b.String()
}
