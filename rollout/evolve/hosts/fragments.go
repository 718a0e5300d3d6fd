package hosts

import (
	"maps"
	"slices"
)

// Fragments collects data that comes in several messages, by sender. An empty map has none.
type Fragments map[string]*fragments

type fragments struct {
	generation int64
	data       [][]byte
	missing    int
}

// mostFragments bounds Message.Fragments.
const mostFragments = 1 << 20

// Split returns messages like m with fragments of the data, of at most `largest` bytes each.
func Split(m Message, data []byte, largest int) (out []Message) {
	pieces := slices.Collect(slices.Chunk(data, largest))
	for i, piece := range pieces {
		m.Fragment, m.Fragments, m.Data = i, len(pieces), piece
		out = append(out, m)
	}
	return out
}

// Add takes a message with a fragment. It returns the whole data with the last one, nil before. A sender's fragments of
// another generation replace those that are there.
func (f Fragments) Add(m Message) []byte {
	if m.Fragments <= 0 || m.Fragments > mostFragments || m.Fragment < 0 || m.Fragment >= m.Fragments {
		return nil
	}
	in := f[m.From]
	if in == nil || in.generation != m.Generation || len(in.data) != m.Fragments {
		in = &fragments{m.Generation, make([][]byte, m.Fragments), m.Fragments}
		f[m.From] = in
	}
	if in.data[m.Fragment] == nil {
		in.data[m.Fragment] = append([]byte{}, m.Data...)
		in.missing--
	}
	if in.missing > 0 {
		return nil
	}
	delete(f, m.From)
	return slices.Concat(in.data...)
}

// drop removes the fragments of generations up to one, and those of senders that are gone.
func (f Fragments) drop(generation int64, gone func(sender string) bool) {
	maps.DeleteFunc(f, func(sender string, in *fragments) bool { return in.generation <= generation || gone(sender) })
}
