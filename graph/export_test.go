package graph

// AddComposed adds sample calls, see composed.
func AddComposed(cases ...Case) { composed = append(composed, cases...) }

// OpenTraces is the number of functions that are being traced.
func OpenTraces() (n int) {
	traces.Range(func(_, _ any) bool { n++; return true })
	return n
}
