package xlabridge

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"xlarun/xlabridge/kernels"
)

// EnvKernels is the environment variable that keeps programs from calling kernels, to compare: "none" for all of them,
// or a list, separated by commas, of "-bf16" for products of bfloat16 and "-amx" for AMX in these. Kernels without
// which an op has no implementation are called in any case.
const EnvKernels = "XLARUN_KERNELS"

// kernelSwitches is what EnvKernels says.
type kernelSwitches struct{ none, noBF16, noAMX bool }

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
		case "-amx":
			s.noAMX = true
		default:
			return s, fmt.Errorf("%s: got %q, want none, or some of -bf16 and -amx separated by commas", EnvKernels,
				list)
		}
	}
	return s, nil
}

// Values of Client.BF16Method.
const (
	BF16None   = "none"        // as the compiler does it: in float32
	BF16AVX512 = "avx512_bf16" // instructions for vectors
	BF16AMX    = "amx"         // instructions for tiles of matrices
)

// BF16Method returns how programs on this client multiply matrices of bfloat16.
func (c *Client) BF16Method() string {
	sets := kernels.BF16Sets()
	if c.switches.noAMX {
		sets = slices.DeleteFunc(sets, func(name string) bool { return name == BF16AMX })
	}
	if !c.HasKernels() || c.switches.noBF16 || len(sets) < 2 {
		return BF16None
	}
	return sets[len(sets)-1]
}

// switchesOfProcess reads EnvKernels, and keeps AMX from being used if it says so.
func switchesOfProcess() (kernelSwitches, error) {
	s, err := readSwitches(os.Getenv(EnvKernels))
	if err == nil && s.noAMX {
		if amx := slices.Index(kernels.BF16Sets(), BF16AMX); amx > 0 {
			kernels.UseBF16Set(amx - 1)
		}
	}
	return s, err
}
