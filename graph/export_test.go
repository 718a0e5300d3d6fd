package graph

// Composed are the sample calls that TestComposed runs, for tests on other backends.
func Composed() []Case { return composed }
