package graph

// Target is what a program is lowered for.
type Target struct {
	// Platform is that of a PJRT plugin: "cpu", "cuda" or "tpu". Another gets ops that every compiler takes.
	Platform string
	// Kernels says whether programs call the kernels of xlabridge.
	Kernels Kernels
	// BF16 and Int8 say that there are instructions for products of bfloat16 and of int8. With them, kernels compute
	// these products.
	BF16, Int8 bool
	// NoNormals says that the kernel that draws random bits makes no normal numbers of them. It does where it rounds as
	// the compiler does: on x86-64 with AVX2 and FMA. So results do not depend on which draws call the kernel.
	NoNormals bool
}

// Kernels says whether programs call kernels.
type Kernels uint8

// The values of Kernels.
const (
	NoKernels Kernels = iota
	// WithKernels calls them where they pay.
	WithKernels
	// AlwaysKernels calls them for the smallest arrays too, and for products of all dtypes: slower, for tests.
	AlwaysKernels
)

// The targets that there are passes for, without instructions for products.
var (
	TargetCPU              = Target{Platform: "cpu"}
	TargetCUDA             = Target{Platform: "cuda"}
	TargetTPU              = Target{Platform: "tpu"}
	TargetCPUKernels       = Target{Platform: "cpu", Kernels: WithKernels}
	TargetCPUKernelsAlways = Target{Platform: "cpu", Kernels: AlwaysKernels}
)

// Targets lists them, those with instructions for products, and one without a kernel for normal numbers.
var Targets = []Target{TargetCPU, TargetCUDA, TargetTPU, TargetCPUKernels,
	{Platform: "cpu", Kernels: WithKernels, BF16: true}, {Platform: "cpu", Kernels: WithKernels, Int8: true},
	{Platform: "cpu", Kernels: WithKernels, BF16: true, Int8: true}, TargetCPUKernelsAlways,
	{Platform: "cpu", Kernels: AlwaysKernels, NoNormals: true}}

// String is such as "cpu with kernels +BFloat16".
func (t Target) String() string {
	s := t.Platform + [...]string{"", " with kernels", " with kernels, always"}[t.Kernels]
	if t.BF16 {
		s += " +" + BFloat16.String()
	}
	if t.Int8 {
		s += " +" + Int8.String()
	}
	if t.NoNormals {
		s += " -normals"
	}
	return s
}

// MarshalText is String, for JSON.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// products reports whether products of a dtype, BFloat16 or Int8, have a kernel.
func (t Target) products(d DType) bool {
	return t.Kernels == AlwaysKernels || d == BFloat16 && t.BF16 || d == Int8 && t.Int8
}

// HasKernels reports whether programs call kernels.
func (t Target) HasKernels() bool { return t.Kernels != NoKernels }

// IsCPU reports whether the platform is the CPU, with or without kernels.
func (t Target) IsCPU() bool { return t.Platform == "cpu" }

// atLeast returns the size from which a kernel pays: size, or 0 for the target that always calls kernels.
func (t Target) atLeast(size int) int {
	if t.Kernels == AlwaysKernels {
		return 0
	}
	return size
}

// paysKernel reports whether a kernel is called for so many elements: it pays from least elements on.
func (t Target) paysKernel(size, least int) bool {
	return t.HasKernels() && size >= max(1, t.atLeast(least))
}

// Accelerator reports whether each kernel of a program is launched from outside.
func (t Target) Accelerator() bool { return t.Platform == "cuda" || t.Platform == "tpu" }
