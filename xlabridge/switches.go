package xlabridge

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"xlarun/xlabridge/kernels"
)

// EnvKernels is the environment variable that keeps programs from calling kernels, to compare: "none" for all of them,
// or a list, separated by commas, of "-bf16" for products of bfloat16, "-int8" for products of int8, and "-amx" for AMX
// in both. Kernels without which an op has no implementation are called in any case. The last bits of a result may be
// others without kernels. Programs are compiled with other options then (the rules of lower.Policy that read
// Facts.Kernels), which is all the difference in evolve and islands; ppo, sparse and selfplay also add up in another
// order. Runs in which few floats are added up, as of spiking networks, may be equal.
const EnvKernels = "XLARUN_KERNELS"

// kernelSwitches is what EnvKernels says.
type kernelSwitches struct{ none, noBF16, noInt8, noAMX bool }

// readSwitches reads the value of EnvKernels.
func readSwitches(list string) (s kernelSwitches, err error) {
	if list == "" {
		return s, nil
	}
	for _, word := range strings.Split(list, ",") {
		switch strings.TrimSpace(word) {
		case "none":
			s.none = true
		case "-bf16":
			s.noBF16 = true
		case "-int8":
			s.noInt8 = true
		case "-amx":
			s.noAMX = true
		default:
			return s, fmt.Errorf("%s: got %q, want none, or some of -bf16, -int8 and -amx separated by commas",
				EnvKernels, list)
		}
	}
	return s, nil
}

const amx = "amx" // instructions for tiles of matrices

// BF16Method returns how programs on this client multiply matrices of bfloat16: by the kernel for
// "avx512_bf16" or "amx", or "" as the compiler does it, after conversion to float32.
func (c *Client) BF16Method() string { return c.method(kernels.BF16, c.switches.noBF16) }

// Int8Method returns how programs on this client multiply matrices of int8 whose product is int32: by the
// kernel for "avx512_vnni" or "amx", or "" as the compiler does it, after conversion to int32.
func (c *Client) Int8Method() string { return c.method(kernels.Int8, c.switches.noInt8) }

func (c *Client) method(t kernels.Narrow, off bool) string {
	sets := kernels.NarrowSets(t)
	if c.switches.noAMX {
		sets = slices.DeleteFunc(sets, func(name string) bool { return name == amx })
	}
	if !c.HasKernels() || off || len(sets) < 2 {
		return ""
	}
	return sets[len(sets)-1]
}

// switchesOfProcess reads EnvKernels, and keeps AMX from being used if it says so.
func switchesOfProcess() (kernelSwitches, error) {
	s, err := readSwitches(os.Getenv(EnvKernels))
	if err != nil || !s.noAMX {
		return s, err
	}
	for _, t := range []kernels.Narrow{kernels.BF16, kernels.Int8} {
		if i := slices.Index(kernels.NarrowSets(t), amx); i > 0 {
			kernels.UseNarrowSet(t, i-1)
		}
	}
	return s, nil
}
