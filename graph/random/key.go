// Package random draws random numbers inside graphs: keys, and distributions over keys. There is no hidden state. A
// draw is a pure function of its key, so the same key gives the same numbers on every backend, under graph.VMap (one
// key a lane) and in graph.Scan (a key in the carry or the inputs). Never use one key for two draws: split it first.
// CheckKeys finds where one is.
//
//	key := random.New(42)
//	k1, k2 := random.Split2(key)
//	w := random.Normal(k1, graph.ShapeOf(graph.Float32, 4, 64))
//	a := random.Randint(k2, graph.ShapeOf(graph.Int32), 0, 6)
//
// Keys and bits equal those of jax.random with its default generator (threefry2x32, partitionable): Split, FoldIn,
// Bits, Uniform and Randint agree bit for bit, the other distributions to rounding, except TruncatedNormal far out. The
// generator is Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) in
// counter mode: element n of a draw, in row-major order, is the hash of the counter n under the key. So a draw is one
// elementwise loop, which a compiler can fuse with its users.
//
// Functions take a graph.Shape if the element type can vary, else dims. Errors (a batch of keys instead of one key,
// float bounds for integers) are thrown as *graph.Error.
package random

import "xlarun/graph"

// Key is one key, a tree: pass it to traced functions, keep it in carries and states.
type Key struct {
	Data *graph.Array // uint32[2]; a batch of keys, as Split makes it, has leading axes
}

// New makes a key from the upper and lower 32 bits of a seed. It equals jax.random.key with 64-bit types enabled. For
// seeds from 0 to 2^32-1 it also equals JAX's default of 32 bits, which ignores the upper half.
func New(seed int64) Key {
	return Key{graph.Uint32s([]uint32{uint32(uint64(seed) >> 32), uint32(seed)})}
}

// Len is the number of keys along the leading axis of a batch of keys.
func (k Key) Len() int {
	if k.Data == nil || k.Data.Rank() < 2 {
		graph.Throw("random.Key.Len", "got one key, want a batch of them, as random.Split makes it")
	}
	return k.Data.Dim(0)
}

// At is key i of a batch of keys.
func (k Key) At(i int) Key {
	if n := k.Len(); i < 0 || i >= n {
		graph.Throw("random.Key.At", "key %d of a batch of %d; want one from 0 to %d", i, n, n-1)
	}
	return Key{k.Data.Index(i)}
}

// Split makes n new keys from one: a batch, Data uint32[n, 2], for graph.VMap, graph.Scan or Key.At. The first keys do
// not depend on n.
func Split(key Key, n int) Key {
	if n < 0 {
		graph.Throw("random.Split", "got n = %d, want 0 or more", n)
	}
	a, b := wordsOf("random.Split", key).hash(n)
	return Key{graph.Stack([]*graph.Array{a, b}, 1)}
}

// Split2 makes two new keys from one.
func Split2(key Key) (Key, Key) {
	k := SplitN(key, 2)
	return k[0], k[1]
}

// hashOneByOne is the number of keys up to which SplitN hashes each key separately. Under VMap the lanes are then the
// only axis of the hash, and the loop over them is a plain vector loop. More keys would make the program long.
const hashOneByOne = 8

// mostSeparate is the number of keys up to which SplitN makes them.
const mostSeparate = 1 << 16

// SplitN makes n new keys from one, the keys of Split, as a slice. n is at most 65536.
func SplitN(key Key, n int) []Key {
	if n < 0 {
		graph.Throw("random.SplitN", "got n = %d, want 0 or more", n)
	} else if n > mostSeparate {
		graph.Throw("random.SplitN", "got n = %d, want at most %d: random.Split makes any number of keys as one "+
			"array", n, mostSeparate)
	}
	w := wordsOf("random.SplitN", key)
	out := make([]Key, n)
	if n > hashOneByOne {
		a, b := w.hash(n)
		for i := range out {
			out[i] = words{a.Index(i), b.Index(i)}.key()
		}
		return out
	}
	for i := range out {
		out[i] = w.fold(graph.Scalar(uint32(i), graph.Uint32)).key()
	}
	return out
}

// FoldIn makes a new key from a key and a number, such as a member's index or a step. data is a Go integer from 0 to
// 2^32-1, or an integer scalar array, of which it uses the lower 32 bits. FoldIn(key, i) is key i of Split(key, n).
func FoldIn(key Key, data any) Key {
	checkKey("random.FoldIn", key)
	w := split(key)
	if d, ok := data.(*graph.Array); ok && d != nil {
		if !d.DType().IsInt() || d.Rank() != 0 {
			graph.Throw("random.FoldIn", "got data %s, want one integer: use graph.VMap for many", d.Shape())
		}
		return w.fold(d.Convert(graph.Uint32)).key()
	}
	v, ok := goInteger(data)
	if !ok {
		graph.Throw("random.FoldIn", "got data of type %T, want an integer", data)
	}
	if v.Sign() < 0 || v.BitLen() > 32 {
		graph.Throw("random.FoldIn", "got data %s, want a number from 0 to 4294967295", v)
	}
	return w.fold(graph.Scalar(uint32(v.Uint64()), graph.Uint32)).key()
}

// words are the two halves of one key, uint32 scalars.
type words struct{ hi, lo *graph.Array }

// wordsOf reads a key that op consumes.
func wordsOf(op string, k Key) words {
	checkKey(op, k)
	graph.Random.ConsumeKey(k.Data)
	return split(k)
}

func split(k Key) words { return words{k.Data.Index(0), k.Data.Index(1)} }

// checkKey refuses what is not one key.
func checkKey(op string, k Key) {
	checkKeys(op, k)
	if d := k.Data; d.Rank() > 1 {
		graph.Throw(op, "got a batch of keys, %s, want one key, u32[2]: take one with Key.At, or map over them with "+
			"graph.VMap", d.Shape())
	}
}

// checkKeys refuses what is not a key or a batch of them.
func checkKeys(op string, k Key) {
	switch d := k.Data; {
	case d == nil:
		graph.Throw(op, "got a key without data: make one with random.New")
	case d.DType() != graph.Uint32 || d.Rank() == 0 || d.Dim(-1) != 2:
		graph.Throw(op, "got a key of %s, want u32[2]: make one with random.New", d.Shape())
	}
}

func (w words) key() Key { return Key{graph.Stack([]*graph.Array{w.hi, w.lo}, 0)} }

// fold hashes one 32-bit counter, a uint32 scalar.
func (w words) fold(counter *graph.Array) words {
	hi, lo := graph.Random.ThreeFry2x32(w.hi, w.lo, graph.Scalar(0, graph.Uint32), counter)
	return words{hi, lo}
}

// split2 is Split2 on words.
func (w words) split2() (words, words) {
	return w.fold(graph.Scalar(0, graph.Uint32)), w.fold(graph.Scalar(1, graph.Uint32))
}
