package study

import (
	"hash/fnv"
	"math/rand/v2"
)

// Halton samples by a Halton sequence with permuted digits (Halton, 1960; Faure and Lemieux, 2009), which covers the
// space more evenly than random points. Each parameter has a prime as its base. The number of the trial is its position
// in the sequence.
type Halton struct {
	// Plain means that digits are not permuted.
	Plain bool
	// Space holds the parameters that have the first primes, in its order. Other parameters get the next ones when they
	// are first asked for. A study with conditional or enqueued parameters needs Space: without it, bases depend on the
	// trial at which the process started.
	Space Space

	bases  map[string]int
	primes []int // found so far
}

// Name implements Sampler.
func (*Halton) Name() string { return "quasi-random" }

func (*Halton) needs() dependency { return needsNothing }

// Relative implements Sampler.
func (*Halton) Relative(*View) (map[string]float64, error) { return nil, nil }

// Independent implements Sampler.
func (h *Halton) Independent(v *View, name string, d Distribution) (float64, error) {
	base := h.base(name)
	var seed *rand.Rand
	if !h.Plain {
		f := fnv.New64a()
		_, _ = f.Write([]byte(name)) // it never fails
		seed = rand.New(rand.NewPCG(uint64(v.Seed), f.Sum64()))
	}
	return d.At(radicalInverse(v.Number, base, seed)), nil
}

// base returns the base of a parameter.
func (h *Halton) base(name string) int {
	if h.bases == nil {
		h.bases = map[string]int{}
		for _, p := range h.Space {
			if !p.Distribution.single() { // one with a single value is never asked for
				h.bases[p.Name] = h.prime(len(h.bases))
			}
		}
	}
	if h.bases[name] == 0 {
		h.bases[name] = h.prime(len(h.bases))
	}
	return h.bases[name]
}

// prime returns the i-th prime, from 2.
func (h *Halton) prime(i int) int {
	for n := 2; len(h.primes) <= i; n++ {
		if len(h.primes) > 0 && n <= h.primes[len(h.primes)-1] {
			n = h.primes[len(h.primes)-1] + 1
		}
		isPrime := true
		for _, p := range h.primes {
			if n%p == 0 {
				isPrime = false
				break
			}
		}
		if isPrime {
			h.primes = append(h.primes, n)
		}
	}
	return h.primes[i]
}

// radicalInverse returns 0.d0d1d2… in a base, where n is …d2d1d0. With r the values of each digit are permuted, down to
// the last digit that changes a float64.
func radicalInverse(n int64, base int, r *rand.Rand) float64 {
	x, weight := 0., 1/float64(base)
	for n > 0 || r != nil && weight > 1e-16 {
		digit := int(n % int64(base))
		if r != nil {
			digit = r.Perm(base)[digit]
		}
		x += float64(digit) * weight
		weight /= float64(base)
		n /= int64(base)
	}
	return min(x, 1-1e-16)
}
