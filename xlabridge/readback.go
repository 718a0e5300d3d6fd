//go:build cgo

package xlabridge

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"xlarun/internal/protobuf"
	"xlarun/xlabridge/hlo"
	"xlarun/xlabridge/internal/riegeli"
)

// A program that was compiled without its device is read back before it is stored, and when it is found in the cache.
// Only the plugin's client, which needs a device, can load all of it. Without a device there is this:
//   - TPU: the plugin reads the program's parts and gives the compiled module (its extension for executables). The
//     module returns as many arrays as the program does.
//   - CUDA: the plugin has no such function. The records are unpacked, and the machine code in them is whole and for
//     the device's architecture.

// readBack returns an error if a serialized program is not what the plugin loads. outputs is the number of arrays that
// the program returns.
func (c *Client) readBack(payload []byte, outputs int) error {
	var err error
	switch {
	case !riegeli.Is(payload):
		err = errors.New("it holds no program of a plugin")
	case c.lib.plugin.CanRead():
		err = c.lib.readModule(payload, outputs)
	case c.Backend() == "cuda":
		err = checkCubins(payload, c.topology.Capability())
	}
	if err != nil {
		return fmt.Errorf("entry is damaged: %w", err)
	}
	return nil
}

// readModule has the plugin read the program, and compares the number of its results.
func (l *library) readModule(payload []byte, outputs int) error {
	module, err := l.plugin.ReadModule(payload)
	if err != nil {
		return fmt.Errorf("the plugin cannot read it: %w", err)
	}
	for _, field := range []protowire.Number{hlo.WithConfigModule, hlo.ModuleShape, hlo.ProgramResult} {
		parts := submessages(module, field)
		if len(parts) != 1 {
			return errors.New("the plugin reads no whole module in it")
		}
		module = parts[0]
	}
	if got := max(1, len(submessages(module, hlo.ShapeTuple))); got != outputs { // a single array is no tuple
		return fmt.Errorf("the plugin reads a program with %d results in it, not %d", got, outputs)
	}
	return nil
}

// submessages returns the fields of a number that hold bytes.
func submessages(message []byte, number protowire.Number) (all [][]byte) {
	fields, err := protobuf.Fields(message)
	if err != nil {
		return nil
	}
	for _, f := range fields {
		if f.Number == number && f.Kind == protowire.BytesType {
			all = append(all, f.Bytes)
		}
	}
	return all
}
