package bytecode

import "encoding/binary"

// Places in the table of offsets of jax.export's flatbuffer: of function_name and of mlir_module_serialized.
const (
	nameField   = 6
	moduleField = 30
)

// Exported returns the MLIR bytecode inside of a file that Exported.serialize of jax.export wrote. ok is false if the
// file is none. The bytecode ends where the file ends, if that is too early.
func Exported(data []byte) (module []byte, ok bool) {
	start, size, ok := vector(data, moduleField)
	if !ok {
		return nil, false
	}
	module = data[start:min(start+size, int64(len(data)))]
	return module, Is(module)
}

// whole reports whether a file that Exported.serialize wrote has its end. The function's name is written first and
// stands last, with a zero after it. The file is padded to whole words.
func whole(data []byte) bool {
	start, size, ok := vector(data, nameField)
	return ok && start+size < int64(len(data)) && len(data)%4 == 0
}

// vector returns where the bytes of a vector or string of the root table start, which is inside of data, and how many
// they are, which may be more than there are. The format is described in flatbuffers.dev/internals: a table names,
// backwards, its table of offsets.
func vector(data []byte, field int64) (start, size int64, ok bool) {
	word := func(at, bytes int64) (int64, bool) {
		if at < 0 || at+bytes > int64(len(data)) {
			return 0, false
		}
		if bytes == 2 {
			return int64(binary.LittleEndian.Uint16(data[at:])), true
		}
		return int64(binary.LittleEndian.Uint32(data[at:])), true
	}
	root, ok := word(0, 4)
	if !ok {
		return 0, 0, false
	}
	back, ok := word(root, 4)
	if !ok {
		return 0, 0, false
	}
	offsets := root - int64(int32(back))
	if length, ok := word(offsets, 2); !ok || length < field+2 {
		return 0, 0, false
	}
	offset, ok := word(offsets+field, 2)
	if !ok || offset == 0 {
		return 0, 0, false
	}
	place, ok := word(root+offset, 4)
	if !ok {
		return 0, 0, false
	}
	start = root + offset + place
	size, ok = word(start, 4)
	return start + 4, size, ok
}
