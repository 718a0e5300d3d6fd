package random

import "xlarun/graph"

// KeyReuseError says that two draws, or a draw and a split, consumed one key.
type KeyReuseError = graph.KeyReuseError

// CheckKeys runs f.
func CheckKeys(f func()) error { return graph.CheckKeys(f) }
