package xlabridge

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// file makes an ELF file of a machine with a section .text of 8 bytes, another without bytes, and their names.
func file(machine uint16, flags uint32) []byte {
	const names = "\x00.text\x00.bss\x00.shstrtab\x00"
	order := binary.LittleEndian
	f := append([]byte(elfMagic), make([]byte, elfHeaderSize-len(elfMagic))...)
	order.PutUint16(f[elfMachine:], machine)
	order.PutUint64(f[elfSections:], elfHeaderSize)
	order.PutUint32(f[elfFlags:], flags)
	order.PutUint16(f[elfSectionSize:], sectionHeader)
	order.PutUint16(f[elfSectionCount:], 4)
	order.PutUint16(f[elfNames:], 3)
	end := uint64(elfHeaderSize + 4*sectionHeader)
	for _, s := range []struct {
		name, kind uint32
		at, size   uint64
	}{{0, 0, 0, 0}, {1, 1, end + uint64(len(names)), 8}, {7, noBits, end, 1 << 40}, {12, 3, end, uint64(len(names))}} {
		h := make([]byte, sectionHeader)
		order.PutUint32(h[sectionName:], s.name)
		order.PutUint32(h[sectionType:], s.kind)
		order.PutUint64(h[sectionOffset:], s.at)
		order.PutUint64(h[sectionBytes:], s.size)
		f = append(f, h...)
	}
	return slices.Concat(f, []byte(names), make([]byte, 8))
}

func TestCubins(t *testing.T) {
	whole := file(cudaMachine, 90)
	c, ok := openCubin(whole)
	require.True(t, ok)
	require.NoError(t, c.check(90))
	require.NoError(t, c.check(0))
	require.EqualError(t, c.check(75), "its machine code is not for compute capability 7.5")
	c, _ = openCubin(file(cudaMachine, 90<<8|3))
	require.NoError(t, c.check(90), "CUDA 13")

	c, ok = openCubin(whole[:len(whole)-1])
	require.True(t, ok)
	require.EqualError(t, c.check(90), "its machine code ends within .text")
	binary.LittleEndian.PutUint16(c.code[elfNames:], 4)
	require.EqualError(t, c.check(90), "its machine code ends within section 1")

	for _, other := range [][]byte{whole[:elfHeaderSize-1], whole[:elfHeaderSize+sectionHeader], file(62, 90)} {
		_, ok = openCubin(other)
		require.False(t, ok)
	}
}
