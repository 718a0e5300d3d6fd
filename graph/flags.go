package graph

// Lists of arrays of which some are nil, and flags that say which.

// spread puts values at the places that flags mark, nil elsewhere.
func spread(values []*Array, flags []bool) []*Array {
	out := make([]*Array, len(flags))
	k := 0
	for i, f := range flags {
		if f {
			out[i] = values[k]
			k++
		}
	}
	return out
}

// choose lists the entries that flags mark.
func choose[T any](values []T, flags []bool) []T {
	var out []T
	for i, f := range flags {
		if f {
			out = append(out, values[i])
		}
	}
	return out
}

func notNil(t []*Array) []bool {
	out := make([]bool, len(t))
	for i, x := range t {
		out[i] = x != nil
	}
	return out
}

func not(flags []bool) []bool {
	out := make([]bool, len(flags))
	for i, f := range flags {
		out[i] = !f
	}
	return out
}

// instantiate lists the tangents that flags mark, with zeros for nil.
func instantiate(t, like []*Array, flags []bool) []*Array {
	return orZerosLike(choose(t, flags), choose(like, flags))
}

func count(flags []bool) int {
	n := 0
	for _, f := range flags {
		if f {
			n++
		}
	}
	return n
}

// orZeros returns a, or zeros if a is nil, which stands for zero.
func orZeros(a *Array, s Shape) *Array {
	if a == nil {
		return Zeros(s)
	}
	return a
}

// orZerosLike returns the values, with zeros of the shapes of like for those that are nil.
func orZerosLike(values, like []*Array) []*Array {
	out := make([]*Array, len(values))
	for i, v := range values {
		out[i] = orZeros(v, like[i].shape)
	}
	return out
}
