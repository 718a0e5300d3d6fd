// Package faulty has a policy, a strategy and a kind of run that make a mistake in a method of choice.
package faulty

import "xlarun/graph"

// fault is the mistake that the methods of a part make, as "Act: index".
type fault string

// in panics in a method, or reports that it shall return nil.
func (f fault) in(method string) (returnsNil bool) {
	switch string(f) {
	case method + ": index":
		var table []float64
		graph.Scalar(table[len(f)])
	case method + ": nil argument":
		graph.Scalar(1).Add((*graph.Array)(nil))
	case method + ": nil":
		return true
	}
	return false
}
