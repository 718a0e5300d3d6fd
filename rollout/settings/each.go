package settings

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// parseEach reads a range, "1e-4..1e-2", or a list, "1e-4,1e-3". Its Value is the first number.
func parseEach(text string) (n Number, ok bool) {
	between, list := "..", strings.Split(text, "..")
	if len(list) == 1 {
		between, list = ",", strings.Split(text, ",")
	} else if len(list) != 2 {
		return n, false
	}
	for i, part := range list {
		x, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return n, false
		}
		if i == 0 {
			n.Value = x
		}
		list[i] = formatFloat(x)
	}
	n.Each = strings.Join(list, between)
	return n, true
}

// bounds returns all numbers of the text.
func (n Number) bounds() []float64 {
	if n.Each == "" {
		return []float64{n.Value}
	}
	var all []float64
	for _, part := range strings.Split(strings.ReplaceAll(n.Each, "..", ","), ",") {
		x, _ := strconv.ParseFloat(part, 64)
		all = append(all, x)
	}
	return all
}

// Listed returns the length of a list, 0 for others.
func (n Number) Listed() int {
	if n.Each == "" || strings.Contains(n.Each, "..") {
		return 0
	}
	return strings.Count(n.Each, ",") + 1
}

// reversed reports whether the larger bound of a range comes first.
func (n Number) reversed() bool {
	b := n.bounds()
	return strings.Contains(n.Each, "..") && b[0] > b[1]
}

// Several returns count values. A list is repeated as often as needed. A range is cut into count parts, equal in the
// logarithm if both ends are positive. Their middles come in an order that depends on name and seed (a Latin hypercube:
// McKay, Beckman and Conover, 1979): each of several ranges is filled evenly, in different orders.
func (n Number) Several(count int, name string, seed int64) []float64 {
	all, bounds := make([]float64, count), n.bounds()
	if !strings.Contains(n.Each, "..") {
		for i := range all {
			all[i] = bounds[i%len(bounds)]
		}
		return all
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	order := rand.New(rand.NewPCG(uint64(seed), h.Sum64())).Perm(count)
	low, high := bounds[0], bounds[1]
	for i, part := range order {
		fraction := (float64(part) + .5) / float64(count)
		if low > 0 && high > 0 {
			all[i] = math.Exp(math.Log(low) + fraction*(math.Log(high)-math.Log(low)))
		} else {
			all[i] = low + fraction*(high-low)
		}
	}
	return all
}
