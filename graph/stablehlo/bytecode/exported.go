package bytecode

import "encoding/binary"

// moduleField is the place of mlir_module_serialized in the table of offsets of jax.export's flatbuffer.
const moduleField = 30

// Exported returns the MLIR bytecode inside of a file that Exported.serialize of jax.export wrote. ok is false if the
// file is none. The format is described in flatbuffers.dev/internals: a table names, backwards, its table of offsets.
func Exported(data []byte) (module []byte, ok bool) {
	word := func(at, size int64) (int64, bool) {
		if at < 0 || at+size > int64(len(data)) {
			return 0, false
		}
		if size == 2 {
			return int64(binary.LittleEndian.Uint16(data[at:])), true
		}
		return int64(binary.LittleEndian.Uint32(data[at:])), true
	}
	root, ok := word(0, 4)
	if !ok {
		return nil, false
	}
	back, ok := word(root, 4)
	if !ok {
		return nil, false
	}
	offsets := root - int64(int32(back))
	if size, ok := word(offsets, 2); !ok || size < moduleField+2 {
		return nil, false
	}
	field, ok := word(offsets+moduleField, 2)
	if !ok || field == 0 {
		return nil, false
	}
	place, ok := word(root+field, 4)
	if !ok {
		return nil, false
	}
	start := root + field + place
	size, ok := word(start, 4)
	if start += 4; !ok || start+size > int64(len(data)) {
		return nil, false
	}
	module = data[start : start+size]
	return module, Is(module)
}
