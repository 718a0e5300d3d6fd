package random

import "xlarun/graph"

// KeyReuseError says that two draws, or a draw and a split, consumed one key.
type KeyReuseError = graph.KeyReuseError

// Clone returns the same key, or batch of keys. CheckKeys counts it as another one: use it where the same numbers are
// to be drawn again on purpose.
func Clone(key Key) Key {
	checkKeys("random.Clone", key)
	return Key{graph.Random.CloneKey(key.Data)}
}

// CheckKeys runs f and returns an error for each key that is consumed twice: a *KeyReuseError, which names both calls
// and their lines, or several of them joined. It is for tests of functions that draw:
//
//	err := random.CheckKeys(func() { model.Init(random.New(0)) })
//
// A draw consumes its key, and Split, Split2 and SplitN do; FoldIn does not, as in jax.debug_key_reuse. Keys that
// follow from others and from known numbers are compared by their words: FoldIn(key, 2) is key 2 of Split. What is not
// known, such as an argument of a traced function, is only equal to itself: FoldIn(key, n) twice is a reuse, and
// FoldIn(key, m) may be another key. So no reuse is reported that is none for some arguments. Two that are not found
// are of keys that a loop has made and that are made again in another way, and of rows of more than 32,768 keys.
//
//   - A loop (Scan, Map, While, ForiLoop) takes two iterations, whatever its condition says. So a draw with a key from
//     outside of the loop is found, and a key in the carry that is handed on after it was consumed.
//   - Of the branches of Cond and Switch only one runs: they may consume one key. A branch and what comes after it may
//     not.
//   - The lanes of VMap may share a key: noise that all members share is used on purpose. The first lane is checked.
//   - A draw counts also where nothing uses its numbers.
//   - A derivative counts as one call of its function.
//   - A program (Trace, Jit) counts each time it is called. One that is only traced is checked on its own, with
//     arguments of which nothing is known.
//
// It sees what f calls on its own goroutine, and of programs those that are traced meanwhile. Use Clone to consume a
// key twice on purpose.
func CheckKeys(f func()) error { return graph.Random.CheckKeys(f) }
