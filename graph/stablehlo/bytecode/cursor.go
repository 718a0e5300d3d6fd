package bytecode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// refusal is the error of a file that cannot be read. Readers panic with it, and Text catches it.
type refusal struct{ error }

// refuse ends the reading of a file.
func refuse(format string, args ...any) {
	panic(refusal{fmt.Errorf(format, args...)})
}

// cursor goes through bytes. Whatever it reads has at most the size of what is left.
type cursor struct {
	what string // the part of the file, for errors
	data []byte
}

func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.data)) {
		refuse("its %s ends too early: %d bytes are left, %d are wanted. Is the file whole?", c.what, len(c.data), n)
	}
	b := c.data[:n]
	c.data = c.data[n:]
	return b
}

func (c *cursor) byte() byte { return c.take(1)[0] }

// number reads a varint: the zeros at the low end of its first byte count the bytes that follow.
func (c *cursor) number() uint64 {
	first := c.byte()
	more := bits.TrailingZeros8(first) // 8 for a zero byte: all 64 bits follow
	var raw [8]byte
	copy(raw[:], c.take(uint64(more)))
	rest := binary.LittleEndian.Uint64(raw[:])
	if more == 8 {
		return rest
	}
	return rest<<(7-more) | uint64(first)>>(more+1)
}

// signed reads a varint in zigzag form.
func (c *cursor) signed() int64 {
	n := c.number()
	return int64(n>>1) ^ -int64(n&1)
}

// flagged reads a varint whose low bit is a flag.
func (c *cursor) flagged() (n uint64, flag bool) {
	n = c.number()
	return n >> 1, n&1 == 1
}

// count reads how many elements follow. Each has at least one byte.
func (c *cursor) count() int {
	n := c.number()
	if n > uint64(len(c.data)) {
		refuse("its %s has %d elements in %d bytes. Is the file whole?", c.what, n, len(c.data))
	}
	return int(n)
}

// text reads a string that ends with a zero byte.
func (c *cursor) text() string {
	n := bytes.IndexByte(c.data, 0)
	if n < 0 {
		refuse("its %s has a string without an end. Is the file whole?", c.what)
	}
	return string(c.take(uint64(n) + 1)[:n])
}

// at is an element of a table that the file refers to.
func at[T any](table []T, index uint64, what string) T {
	if index >= uint64(len(table)) {
		refuse("it refers to %s %d of %d. Is the file damaged?", what, index, len(table))
	}
	return table[index]
}
