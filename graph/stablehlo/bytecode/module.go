// Package bytecode translates MLIR bytecode that JAX wrote to StableHLO text, the text that package stablehlo reads.
//
// Exported.mlir_module_serialized of jax.export is such bytecode: a portable artifact of StableHLO, whose ops are those
// of the versioned dialect VHLO. Exported.serialize wraps it in a flatbuffer. The formats are described in
// mlir.llvm.org/docs/BytecodeFormat and in the files VhloOps.td, VhloTypes.td and VhloBytecode.cpp of StableHLO.
//
// Text writes only what package stablehlo asks for: locations, sharding and precision are left out. Memory is in
// proportion to the file, and a text is refused if it grows beyond 64 times the file.
package bytecode

import "bytes"

const magic = "ML\xefR"

// Is tells if a file is MLIR bytecode.
func Is(data []byte) bool { return bytes.HasPrefix(data, []byte(magic)) }

// version is the version of MLIR bytecode that StableHLO has written since 0.15.
const version = 6

// The kinds of sections.
const (
	stringSection = iota
	dialectSection
	valueSection
	valueOffsetSection
	irSection
	resourceSection
	resourceOffsetSection
	dialectVersionSection
	propertySection
	sectionKinds
)

// module is a file whose tables are read.
type module struct {
	strings    []string
	dialects   []string
	names      []string // of ops, with their dialects: "vhlo.add_v1"
	attributes []entry
	types      []entry
	properties [][]byte
	ir         []byte
}

// read reads the tables of a file.
func read(data []byte) *module {
	c := &cursor{"head", data[len(magic):]}
	if v := c.number(); v != version {
		refuse("it is MLIR bytecode of version %d, want %d: write exported.mlir_module_serialized of jax.export", v,
			version)
	}
	c.text() // the producer
	sections := make([][]byte, sectionKinds)
	for c.what = "list of sections"; len(c.data) > 0; {
		kind, content := section(c)
		if sections[kind] != nil {
			refuse("it has two sections of kind %d. Is the file damaged?", kind)
		}
		sections[kind] = content
	}
	for _, kind := range []int{stringSection, dialectSection, valueSection, valueOffsetSection, irSection} {
		if sections[kind] == nil {
			refuse("it has no section of kind %d. Is the file whole?", kind)
		}
	}
	m := &module{ir: sections[irSection]}
	m.readStrings(sections[stringSection])
	m.readDialects(sections[dialectSection])
	m.readEntries(sections[valueSection], sections[valueOffsetSection])
	if p := sections[propertySection]; p != nil {
		c := &cursor{"property section", p}
		for n := c.count(); n > 0; n-- {
			m.properties = append(m.properties, c.take(c.number()))
		}
	}
	return m
}

// section reads the head and the bytes of a section. An aligned one has padding in front.
func section(c *cursor) (kind byte, content []byte) {
	kind = c.byte()
	size := c.number()
	if kind&0x80 != 0 {
		c.number() // the alignment
		for len(c.data) > 0 && c.data[0] == 0xCB {
			c.byte()
		}
		kind &^= 0x80
	}
	if kind >= sectionKinds {
		refuse("it has a section of kind %d, which is not known here", kind)
	}
	content = c.take(size)
	return kind, content[:len(content):len(content)]
}

// readStrings reads the strings: their sizes, the last one first, then their bytes. Each ends with a zero byte.
func (m *module) readStrings(data []byte) {
	c := &cursor{"string section", data}
	m.strings = make([]string, c.count())
	sizes := make([]uint64, len(m.strings))
	for i := range sizes {
		sizes[len(sizes)-1-i] = c.number()
	}
	for i, size := range sizes {
		if size == 0 {
			refuse("its string %d has no end. Is the file damaged?", i)
		}
		m.strings[i] = string(c.take(size)[:size-1])
	}
}

func (m *module) readDialects(data []byte) {
	c := &cursor{"dialect section", data}
	for n := c.count(); n > 0; n-- {
		name, versioned := c.flagged()
		m.dialects = append(m.dialects, at(m.strings, name, "string"))
		if versioned {
			section(c)
		}
	}
	c.number() // how many names of ops follow
	for len(c.data) > 0 {
		dialect := at(m.dialects, c.number(), "dialect")
		for n := c.count(); n > 0; n-- {
			name, _ := c.flagged()
			m.names = append(m.names, dialect+"."+at(m.strings, name, "string"))
		}
	}
}
