package graph

// Composed are the sample calls that TestComposed runs, for tests on other backends.
func Composed() []Case { return composed }

// AddComposed adds sample calls of functions that other packages make of ops.
func AddComposed(cases ...Case) { composed = append(composed, cases...) }

// OpenTraces is the number of functions that are being traced.
func OpenTraces() (n int) {
	traces.Range(func(_, _ any) bool { n++; return true })
	return n
}
