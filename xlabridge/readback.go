//go:build cgo

package xlabridge

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
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

const (
	cudaMachine = elf.Machine(190) // EM_CUDA of the ELF registry
	flagsAt     = 48               // e_flags in the header of a 64-bit ELF file
)

// checkCubins looks for NVIDIA's machine code in a program's records. Each piece must be whole and for the device's
// compute capability, such as 90. A program that only calls libraries has none.
func checkCubins(payload []byte, capability int) error {
	records, err := riegeli.Records(payload)
	if err != nil {
		return err
	}
	for _, record := range records {
		for at := 0; ; at++ {
			next := bytes.Index(record[at:], []byte(elf.ELFMAG))
			if next < 0 {
				break
			}
			at += next
			code := record[at:]
			file, err := elf.NewFile(bytes.NewReader(code))
			if err != nil || file.Machine != cudaMachine {
				continue // other bytes that look like the beginning
			}
			for _, s := range file.Sections {
				if s.Type != elf.SHT_NOBITS && s.Offset+s.FileSize > uint64(len(code)) {
					return fmt.Errorf("its machine code ends within %s", s.Name)
				}
			}
			// The architecture is in the lowest byte of the flags, and in the second one from CUDA 13 on.
			flags := binary.LittleEndian.Uint32(code[flagsAt:])
			if capability != 0 && int(flags&0xff) != capability && int(flags>>8&0xff) != capability {
				return fmt.Errorf("its machine code is not for compute capability %d.%d", capability/10, capability%10)
			}
		}
	}
	return nil
}
