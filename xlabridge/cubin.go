//go:build cgo

package xlabridge

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"xlarun/xlabridge/internal/riegeli"
)

// NVIDIA's machine code is an ELF file of 64 bits, a cubin. These are the places of fields in its header and in the
// headers of its sections (System V ABI, "Object Files"). The package debug/elf would bring debug/dwarf along.
const (
	elfMachine      = 18 // uint16
	elfSections     = 40 // uint64: where the sections' headers begin
	elfFlags        = 48 // uint32
	elfSectionSize  = 58 // uint16
	elfSectionCount = 60 // uint16
	elfNames        = 62 // uint16: the number of the section that holds the sections' names
	elfHeaderSize   = 64

	sectionName   = 0  // uint32: where the name begins
	sectionType   = 4  // uint32
	sectionOffset = 24 // uint64
	sectionBytes  = 32 // uint64
	sectionHeader = 64

	elfMagic    = "\x7fELF\x02\x01\x01" // 64 bits, little-endian, version 1
	cudaMachine = 190                   // EM_CUDA of the ELF registry
	noBits      = 8                     // SHT_NOBITS: the section takes no place in the file
)

// cubin is the beginning of an ELF file for CUDA, and the headers of its sections.
type cubin struct{ code, headers []byte }

// openCubin reads the header at the beginning of code; ok is false if it begins with other bytes, or ends within the
// headers.
func openCubin(code []byte) (c cubin, ok bool) {
	if len(code) < elfHeaderSize || binary.LittleEndian.Uint16(code[elfMachine:]) != cudaMachine ||
		binary.LittleEndian.Uint16(code[elfSectionSize:]) != sectionHeader {
		return c, false
	}
	at := binary.LittleEndian.Uint64(code[elfSections:])
	size := uint64(binary.LittleEndian.Uint16(code[elfSectionCount:])) * sectionHeader
	if at > uint64(len(code)) || size > uint64(len(code))-at {
		return c, false
	}
	return cubin{code, code[at : at+size]}, true
}

// check returns an error if a section is not whole, or if the code is not for a compute capability, such as 90; 0: any.
func (c cubin) check(capability int) error {
	for n := range len(c.headers) / sectionHeader {
		header := c.headers[n*sectionHeader:]
		at, size := binary.LittleEndian.Uint64(header[sectionOffset:]),
			binary.LittleEndian.Uint64(header[sectionBytes:])
		whole := at <= uint64(len(c.code)) && size <= uint64(len(c.code))-at
		if !whole && binary.LittleEndian.Uint32(header[sectionType:]) != noBits {
			return fmt.Errorf("its machine code ends within %s", c.name(n))
		}
	}
	// The architecture is in the lowest byte of the flags, and in the second one from CUDA 13 on.
	flags := binary.LittleEndian.Uint32(c.code[elfFlags:])
	if capability != 0 && int(flags&0xff) != capability && int(flags>>8&0xff) != capability {
		return fmt.Errorf("its machine code is not for compute capability %d.%d", capability/10, capability%10)
	}
	return nil
}

// name returns a section's name, or its number if the names are not there.
func (c cubin) name(n int) string {
	unnamed := fmt.Sprintf("section %d", n)
	names := int(binary.LittleEndian.Uint16(c.code[elfNames:])) * sectionHeader
	if names+sectionHeader > len(c.headers) {
		return unnamed
	}
	at := binary.LittleEndian.Uint64(c.headers[names+sectionOffset:]) +
		uint64(binary.LittleEndian.Uint32(c.headers[n*sectionHeader+sectionName:]))
	if at >= uint64(len(c.code)) {
		return unnamed
	}
	name, _, ended := bytes.Cut(c.code[at:], []byte{0})
	if !ended || len(name) == 0 {
		return unnamed
	}
	return string(name)
}

// checkCubins looks for NVIDIA's machine code in a program's records. Each piece must be whole and for the device's
// compute capability. A program that only calls libraries has none.
func checkCubins(payload []byte, capability int) error {
	records, err := riegeli.Records(payload)
	if err != nil {
		return err
	}
	for _, record := range records {
		for at := 0; ; at++ {
			next := bytes.Index(record[at:], []byte(elfMagic))
			if next < 0 {
				break
			}
			at += next
			if c, ok := openCubin(record[at:]); ok { // not other bytes that look like the beginning
				if err := c.check(capability); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
