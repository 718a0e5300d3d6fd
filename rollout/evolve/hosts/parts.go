package hosts

import "slices"

// Parts collects data that comes in several messages, by sender. An empty map has none.
type Parts map[string]*parts

type parts struct {
	generation int64
	parts      [][]byte
	missing    int
}

// mostParts bounds Message.Parts.
const mostParts = 1 << 20

// Split returns messages like m with parts of the data, of at most `largest` bytes each.
func Split(m Message, data []byte, largest int) (out []Message) {
	pieces := slices.Collect(slices.Chunk(data, largest))
	for i, piece := range pieces {
		m.Part, m.Parts, m.Data = i, len(pieces), piece
		out = append(out, m)
	}
	return out
}

// Add takes a message with a part. It returns the whole data with the last part, nil before. A sender's parts of
// another generation replace those that are there.
func (p Parts) Add(m Message) []byte {
	if m.Parts <= 0 || m.Parts > mostParts || m.Part < 0 || m.Part >= m.Parts {
		return nil
	}
	in := p[m.From]
	if in == nil || in.generation != m.Generation || len(in.parts) != m.Parts {
		in = &parts{m.Generation, make([][]byte, m.Parts), m.Parts}
		p[m.From] = in
	}
	if in.parts[m.Part] == nil {
		in.parts[m.Part] = append([]byte{}, m.Data...)
		in.missing--
	}
	if in.missing > 0 {
		return nil
	}
	delete(p, m.From)
	return slices.Concat(in.parts...)
}
