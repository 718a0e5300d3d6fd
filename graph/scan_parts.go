package graph

import "slices"

// The rules of Scan first split the lists of its inputs and results by name, then work on the parts, and join them at
// the end.

// scanParts holds values that belong to the inputs of a scan, or to the parameters of its body: for each constant, each
// part of the carry, and each scanned input.
type scanParts[T any] struct{ consts, carry, xs []T }

// splitScanParts names the parts of a list with an entry for each input of a scan.
func splitScanParts[T any](a scanAttrs, values []T) scanParts[T] {
	end := a.Consts + a.Carry
	return scanParts[T]{values[:a.Consts:a.Consts], values[a.Consts:end:end], values[end:]}
}

// concat is the list that splitScanParts took apart.
func (p scanParts[T]) concat() []T { return slices.Concat(p.consts, p.carry, p.xs) }

// mapScanParts applies f to each part.
func mapScanParts[T, U any](p scanParts[T], f func([]T) []U) scanParts[U] {
	return scanParts[U]{f(p.consts), f(p.carry), f(p.xs)}
}

// map2ScanParts applies f to each part of p with the same part of q.
func map2ScanParts[T, U, V any](p scanParts[T], q scanParts[U], f func([]T, []U) []V) scanParts[V] {
	return scanParts[V]{f(p.consts, q.consts), f(p.carry, q.carry), f(p.xs, q.xs)}
}

// sizedScan returns the attributes of a scan whose inputs, or whose body's parameters, are p.
func sizedScan(a scanAttrs, p scanParts[*Array]) scanAttrs {
	a.Consts, a.Carry = len(p.consts), len(p.carry)
	return a
}

// scanResults holds values that belong to the results of a scan, or of its body: for each part of the carry, and each
// stacked output.
type scanResults[T any] struct{ carry, ys []T }

// splitScanResults names the parts of a list with an entry for each result of a scan.
func splitScanResults[T any](a scanAttrs, values []T) scanResults[T] {
	return scanResults[T]{values[:a.Carry:a.Carry], values[a.Carry:]}
}

// concat is the list that splitScanResults took apart.
func (r scanResults[T]) concat() []T { return slices.Concat(r.carry, r.ys) }

// mapScanResults applies f to each part.
func mapScanResults[T, U any](r scanResults[T], f func([]T) []U) scanResults[U] {
	return scanResults[U]{f(r.carry), f(r.ys)}
}

// map2ScanResults applies f to each part of r with the same part of q.
func map2ScanResults[T, U, V any](r scanResults[T], q scanResults[U], f func([]T, []U) []V) scanResults[V] {
	return scanResults[V]{f(r.carry, q.carry), f(r.ys, q.ys)}
}

// cut splits a list after its first n entries.
func cut[T any](values []T, n int) (first, rest []T) { return values[:n:n], values[n:] }

// concat2 is one list after the other.
func concat2[T any](a, b []T) []T { return slices.Concat(a, b) }
