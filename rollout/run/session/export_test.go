package session

import "testing"

// Lend lends states from a size in bytes on, and evaluates members one by one from that size on, until the test has
// ended.
func Lend(t *testing.T, from int) {
	state, member := lentState, largeMember
	lentState, largeMember = from, from
	t.Cleanup(func() { lentState, largeMember = state, member })
}
