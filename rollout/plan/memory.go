package plan

import (
	"fmt"
	"math/bits"
	"sort"

	"xlarun/internal/hardware"
	"xlarun/xlabridge"
)

// Tally is a sum of products that detects overflow, for estimates of memory in bytes.
type Tally struct {
	sum      uint64
	overflow bool
}

// Add adds the product of the factors.
func (t *Tally) Add(factors ...uint64) {
	product := uint64(1)
	for _, f := range factors {
		high, low := bits.Mul64(product, f)
		t.overflow = t.overflow || high != 0
		product = low
	}
	sum, carry := bits.Add64(t.sum, product, 0)
	t.sum, t.overflow = sum, t.overflow || carry != 0
}

// Total returns the sum. ok is false if it does not fit in an int64.
func (t *Tally) Total() (sum int64, ok bool) { return int64(t.sum), !t.overflow && t.sum < 1<<62 }

// BytesText formats a number of bytes: "1.5 GiB".
func BytesText(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	switch {
	case n == 1:
		return "1 byte"
	case i == 0:
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}

// TooLarge returns the text of an error for a run that does not fit in memory. what describes its members. need is
// their memory, with ok false on overflow. free is the memory that is free (0: unknown), or allowed if given is true.
// most is the largest population that fits, 0 for none.
func TooLarge(what string, need int64, ok bool, free int64, given bool, most int) string {
	size, room, advice := "more than 4 EiB", "", "make the networks or the population smaller"
	if ok {
		size = "about " + BytesText(need)
	}
	if free > 0 {
		room = MoreThan(free, given)
		advice = "no population fits: allow more, or make the networks smaller"
		if most > 0 {
			advice = fmt.Sprintf("the largest population that fits is %d", most)
		}
	}
	return fmt.Sprintf("a run that fits in memory: %s take %s%s; %s", what, size, room, advice)
}

// MoreThan ends a sentence about a size: it is larger than what is free, or than what the user allows.
func MoreThan(free int64, given bool) string {
	if given {
		return ", which is more than the " + BytesText(free) + " that --memory allows"
	}
	return ", which is more than the " + BytesText(free) + " that is free"
}

// TooLargeCompiled returns the text of an error for a program of total bytes with a smaller budget. need is the
// estimate of its bytes, and largest returns the largest population whose estimate fits in free bytes.
func TooLargeCompiled(total, budget, need int64, largest func(free int64) int) string {
	most := largest(int64(float64(budget) * float64(need) / float64(total)))
	return fmt.Sprintf("a run that fits in memory: the compiled program takes %s%s; the largest population that fits "+
		"is about %d", BytesText(total), MoreThan(budget, true), most)
}

// Largest returns the largest n from 1 to most for which fits returns true, or 0. Because of rounding to tiles, fits
// may be non-monotonic within an eighth of n.
func Largest(most int, fits func(n int) bool) int {
	n := sort.Search(most, func(n int) bool { return !fits(n + 1) })
	for m := min(most, n+n/8+1); m > n; m-- {
		if fits(m) {
			return m
		}
	}
	for ; n > 0 && !fits(n); n-- {
	}
	return n
}

// FreeOn returns the free bytes of a backend's first n devices (0: all) together; 0: unknown.
func FreeOn(b xlabridge.Backend, n int) int64 {
	client, ok := b.(*xlabridge.Client)
	if !ok || b.Backend() == "cpu" {
		return hardware.FreeMemory()
	}
	if n == 0 {
		n = b.NumDevices()
	}
	var free int64
	for i := range min(n, b.NumDevices()) {
		m, err := client.Memory(i)
		if err != nil || m.Process || m.Limit == 0 {
			return 0
		}
		free += max(1, m.Limit-m.InUse)
	}
	return free
}
