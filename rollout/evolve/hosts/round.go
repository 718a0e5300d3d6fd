package hosts

import (
	"bytes"
	"fmt"
	"time"
)

// round is a generation: which chunks are done, and which are under way.
type round struct {
	generation int64
	chunks     []chunk // of a later generation: only those of which messages have arrived
	count      int     // chunks with rows
}

// mostChunks bounds the number of a chunk in a message.
const mostChunks = 1 << 20

// chunk is one chunk of a generation.
type chunk struct {
	rows      []byte // nil: nobody has announced it
	by        string // the host that computed the rows
	host      string // the host that began it last; "": nobody
	startTime time.Duration
}

// grow makes room for a number of chunks.
func (r *round) grow(chunks int) {
	if n := chunks - len(r.chunks); n > 0 {
		r.chunks = append(r.chunks, make([]chunk, n)...)
	}
}

// resize sets the number of chunks.
func (r *round) resize(chunks int) {
	r.grow(chunks)
	for _, c := range r.chunks[chunks:] {
		if c.rows != nil {
			r.count--
		}
	}
	r.chunks = r.chunks[:chunks]
}

// complete reports that the rows of all chunks are there.
func (r *round) complete() bool { return r.count == len(r.chunks) }

// at returns a chunk; nil: no generation has so many.
func (r *round) at(number int) *chunk {
	if number < 0 || number >= mostChunks {
		return nil
	}
	r.grow(number + 1)
	return &r.chunks[number]
}

// Mismatch is the error of a chunk that two hosts computed with different results.
type Mismatch struct {
	Generation int64 // from 0
	Chunk      int
	Hosts      [2]string
	Rows       [2][]byte // their results
	Offset     int       // of the first byte that differs
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("hosts %s and %s computed chunk %d of generation %d with different results, from byte %d on: "+
		"one of the machines is broken, or their processors differ", m.Hosts[0], m.Hosts[1], m.Chunk, m.Generation+1,
		m.Offset)
}

// put stores the rows of a chunk. twice reports that they were there, and are the same.
func (r *round) put(number int, host string, rows []byte) (twice bool, err error) {
	c := r.at(number)
	if c == nil {
		return false, nil
	}
	if c.rows == nil {
		c.rows, c.by = rows, host
		r.count++
		return false, nil
	}
	if bytes.Equal(c.rows, rows) {
		return true, nil
	}
	at := 0
	for at < min(len(rows), len(c.rows)) && rows[at] == c.rows[at] {
		at++
	}
	return true, &Mismatch{r.generation, number, [2]string{c.by, host}, [2][]byte{c.rows, rows}, at}
}

// missingChunks returns the chunks without rows.
func (r *round) missingChunks() (chunks []int) {
	for i, c := range r.chunks {
		if c.rows == nil {
			chunks = append(chunks, i)
		}
	}
	return chunks
}
