package lower

// Use says how a program runs.
type Use struct {
	// Alone: a program of Jit. The last digits of its results may change with the options, those of others may not:
	// programs of populations must resume to the same bytes.
	Alone bool
	// OneDevice: it runs on one device while the client's other devices are idle.
	OneDevice bool
	// AllCores: the caller wants all cores.
	AllCores bool
}

// Codegen is how XLA's CPU compiler writes a program. xlabridge/flags.go has the names of its options. The zero value
// is the compiler's default, for one core.
//
// The compiler has two emitters for loops. The newer one uses MLIR and makes an LLVM module for each loop. It compiles
// two to three times as long for code of the same speed: the smallest loop takes 14 ms of a core instead of 6. With the
// older emitter and without LLVM's unrolling, CartPole's first generation takes 0.5 s instead of 1.3. But the older
// emitter cannot update a part of an array in place: it copies the whole array. So it is used where kernels make the
// updates (writes.go) or no large array is updated in part.
type Codegen struct {
	// AllCores lets a program split its loops over the cores.
	AllCores bool
	// WholeLoops writes each loop as one function, by the older emitter, but those that loops.go keeps apart.
	WholeLoops bool
	// Unroll leaves LLVM's unrolling of such loops on.
	Unroll bool
	// Tiles writes products inside of such loops in tiles of registers. Calls of the library would be outside of them,
	// so the library is not used.
	Tiles bool
	// Modules compiles as many LLVM modules as there are cores, at most 8, instead of one for each loop.
	Modules bool
	// NoTrees reduces long axes in one loop. The compiler's default is trees: three kernels, and three more for each
	// level, where one would do.
	NoTrees bool
	// Reloads reads an element again in the next iteration of a loop. LLVM's default keeps it in a register. In loops
	// of vectors that takes shuffles.
	Reloads bool
	// NoLibraryConv writes convolutions itself. The compiler's default hands them to a library of kernels, as it does
	// products and sums.
	NoLibraryConv bool
}

// Rule is a row of the policy.
type Rule struct {
	Group string                    `json:"group"`
	Name  string                    `json:"name"`
	When  func(f Facts, u Use) bool `json:"-"`
	Then  func(c *Codegen)          `json:"-"`
	Why   string                    `json:"why"`
}

// Policy decides how programs are compiled. Of each group, the first rule that holds decides; where none does, the
// compiler's default stays. docs/notes/language-speed.md and docs/notes/speed-on-cpu.md have the measurements.
var Policy = []Rule{
	{Group: "cores", Name: "asked for",
		When: func(_ Facts, u Use) bool { return u.AllCores },
		Then: func(c *Codegen) { c.AllCores = true },
		Why:  "CompileOptions.AllCores"},
	{Group: "cores", Name: "a large array",
		When: func(f Facts, u Use) bool { return u.OneDevice && f.LargestArray >= 1<<20 },
		Then: func(c *Codegen) { c.AllCores = true },
		Why:  "starting and joining other threads takes some microseconds"},
	{Group: "cores", Name: "much work of a coarse grain",
		When: func(f Facts, u Use) bool {
			return u.OneDevice && f.Grain >= 1<<15 && (f.Work >= 1e8 || u.Alone && f.Work >= 1e7)
		},
		Then: func(c *Codegen) { c.AllCores = true },
		Why:  "0.64 to 1.05 of the time with all cores; programs of less work take up to twice as long with them"},

	{Group: "library", Name: "convolutions",
		When: func(f Facts, _ Use) bool { return f.Conv },
		Then: func(c *Codegen) { c.NoLibraryConv = true },
		Why:  "they are a quarter slower in the library"},

	{Group: "reductions", Name: "many whose order does not matter",
		When: func(f Facts, _ Use) bool {
			return f.PlainSums && !f.Tiles && f.Orderless >= 16 && float64(f.Orderless) >= .8*float64(f.LongReductions)
		},
		Then: func(c *Codegen) { c.NoTrees = true },
		Why:  "a generation of NEAT compiles in four fifths of the time; only sums of floats gain digits by trees"},

	{Group: "elements", Name: "read again",
		When: func(f Facts, u Use) bool { return u.Alone && f.Kernels },
		Then: func(c *Codegen) { c.Reloads = true },
		Why: "0.4 to 0.75 of the time of filters whose slices overlap along the last axis, with AVX2; not measured " +
			"with AVX-512"},

	{Group: "loops", Name: "no kernels",
		When: func(f Facts, _ Use) bool { return !f.Kernels },
		Then: func(*Codegen) {},
		Why:  "without kernels the older emitter copies an array for each part that is written"},
	{Group: "loops", Name: "parts of large arrays are written",
		When: func(f Facts, _ Use) bool { return f.WritesParts },
		Then: func(*Codegen) {},
		Why:  "the older emitter copies the array for each part"},
	{Group: "loops", Name: "short loops",
		When: func(f Facts, u Use) bool { return f.ShortLoops >= .25 && (f.Tiles || !u.Alone || !f.unrolls()) },
		Then: func(*Codegen) {},
		Why:  "without unrolling the older emitter writes no vectors: two to four times the time of a call"},
	{Group: "loops", Name: "tiles and short rows",
		When: func(f Facts, u Use) bool { return u.Alone && f.Tiles && f.ShortRows > .4 },
		Then: func(c *Codegen) { c.WholeLoops, c.Unroll, c.Tiles, c.Modules = true, true, true, true },
		Why:  "0.67 of the time of a call, 1.7 times the time to compile"},
	{Group: "loops", Name: "tiles",
		When: func(f Facts, _ Use) bool { return f.Tiles },
		Then: func(c *Codegen) { c.WholeLoops, c.Tiles, c.Modules = true, true, true },
		Why:  "calls of the library would be outside of loops that are one function"},
	{Group: "loops", Name: "gathers of single floats",
		When: func(f Facts, u Use) bool { return u.Alone && f.Gathered > .05 },
		Then: func(c *Codegen) { c.Modules = true },
		Why:  "gathers take half to two thirds of the time with the newer emitter"},
	{Group: "loops", Name: "unrolled",
		When: func(f Facts, u Use) bool { return u.Alone && f.unrolls() },
		Then: func(c *Codegen) { c.WholeLoops, c.Unroll, c.Modules = true, true, true },
		Why:  "0.26 to 0.6 of the time of a call for loops of few iterations, windows and shifted arrays"},
	{Group: "loops", Name: "whole",
		When: func(Facts, Use) bool { return true },
		Then: func(c *Codegen) { c.WholeLoops, c.Modules = true, true },
		Why:  "half to a third of the time to compile, code of the same speed"},
}

// unrolls reports whether LLVM's unrolling pays for a program that runs alone. It writes out loops of few iterations
// and the windows of shifted arrays, and joins reductions of integers along other axes than the last into vectors, if
// they are trees. It loses where it writes out sums of integers along short rows, or loops around exponentials: other
// reductions along other axes than the last, inside of loops. Other programs without loops are as fast without it, and
// take less time to compile.
func (f Facts) unrolls() bool {
	return f.ShortIntegerSums <= .2 &&
		(f.ShortRows > .05 || f.IntegerColumns > .05 || f.Loops && f.LoopColumns < .2)
}

// Codegen applies Policy. rules are those that decided.
func (f Facts) Codegen(u Use) (c Codegen, rules []Rule) {
	decided := map[string]bool{}
	for _, r := range Policy {
		if !decided[r.Group] && r.When(f, u) {
			decided[r.Group] = true
			r.Then(&c)
			rules = append(rules, r)
		}
	}
	return c, rules
}
