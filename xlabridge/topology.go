//go:build cgo

package xlabridge

import (
	"context"
	"errors"
	"fmt"
	"os"

	"xlarun/xlabridge/hlo"
	"xlarun/xlabridge/internal/pjrt"
	"xlarun/xlabridge/topology"
)

// absentDevices describes devices that need not be there, and compiles for them.
type absentDevices struct {
	topology.Topology
	raw   *pjrt.Topology
	zeros bool // results read as zeros
}

// Topology returns the devices that the client compiles for without having them, or nil.
func (c *Client) Topology() *topology.Topology {
	if c.topology == nil {
		return nil
	}
	return &c.topology.Topology
}

// withoutTPU tells the plugin for TPUs, before it is loaded, that there is none: it need not wait for a server that
// only a machine with a TPU has, and other processes may load it at the same time.
func withoutTPU(o Options) error {
	if o.Topology == nil || o.Backend != "tpu" {
		return nil
	}
	for _, name := range []string{"TPU_SKIP_MDS_QUERY", "ALLOW_MULTIPLE_LIBTPU_LOAD"} {
		if err := os.Setenv(name, "1"); err != nil {
			return err
		}
	}
	return nil
}

// createTopology makes the plugin's topology instead of a client.
func (c *Client) createTopology(ctx context.Context, o Options) error {
	t := &absentDevices{Topology: *o.Topology, zeros: o.Zeros}
	lib := c.lib
	raw, text, err := quietly(ctx, o.Backend, func() (*pjrt.Topology, error) {
		name, texts := t.Topology.Options()
		options := map[string]any{}
		for key, text := range texts {
			options[key] = text
		}
		return lib.plugin.NewTopology(name, options)
	}, func(late *pjrt.Topology) { _ = late.Close() })
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return ctx.Err()
	case errors.Is(err, errStuck):
		return withChatter(stuck(o.Backend, c.lib.path), text)
	case err != nil:
		return withChatter(fmt.Errorf("backend %s: the plugin makes no topology %s: %w", o.Backend, t.Name, err), text)
	case len(raw.Kinds) != t.Devices:
		_ = raw.Close()
		return fmt.Errorf("backend %s: topology %s: the plugin gives it %d devices, wanted %d", o.Backend, t.Name,
			len(raw.Kinds), t.Devices)
	}
	t.raw, c.topology = raw, t
	return nil
}

// Launch is the time that a device needs to start a kernel, for estimates: some 2 µs on a GPU and half as much on a
// TPU, whose loop runs on the device.
func (t *absentDevices) launch() float64 {
	if t.Backend == "tpu" {
		return 1e-6
	}
	return 2e-6
}

// Estimate returns a time in seconds for a run of a program of a topology, from its kernels and the memory that they
// pass (hlo.Estimate).
func (e *Executable) Estimate() (float64, error) {
	t := e.client.topology
	if t == nil {
		return 0, fmt.Errorf("xlabridge: program %s is on its device: measure it", e.name)
	}
	loops, err := e.Loops()
	return hlo.Estimate(loops, float64(t.Bandwidth), t.launch()), err
}

// descriptions describes each device.
func (t *absentDevices) descriptions() []string {
	lines := make([]string, len(t.raw.Kinds))
	for i, kind := range t.raw.Kinds {
		lines[i] = fmt.Sprintf("%s, not on this machine", kind)
	}
	return lines
}
