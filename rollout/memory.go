package rollout

import (
	"fmt"
	"math/bits"

	"xlarun/xlabridge"
)

// Tally adds products up and remembers overflow: an estimate of memory in bytes.
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

// Total is the sum; ok is false where it does not fit in an int64.
func (t *Tally) Total() (sum int64, ok bool) { return int64(t.sum), !t.overflow && t.sum < 1<<62 }

// BytesText is "1.5 GiB".
func BytesText(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}

// FreeMemory is the memory in bytes that this process may still take, of the machine's and within the limits of its control
// groups; 0 where the kernel does not tell.
func FreeMemory() int64 { return xlabridge.FreeMemory() }

// FreeOn is the memory that the first n devices (0: all) of a backend have free together; 0 where that is not known.
func FreeOn(b xlabridge.Backend, n int) int64 {
	client, ok := b.(*xlabridge.Client)
	if !ok || b.Backend() == "cpu" {
		return FreeMemory()
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
