package long

// Sample returns the first case of each kind, and in the long form of the caller's file all of them: what is checked on
// XLA, where the interpreter checks all.
func Sample[C any](cases []C, kind func(C) string) []C {
	if on(2) {
		return cases
	}
	seen := map[string]bool{}
	var sample []C
	for _, c := range cases {
		if k := kind(c); !seen[k] {
			seen[k] = true
			sample = append(sample, c)
		}
	}
	return sample
}
