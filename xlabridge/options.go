package xlabridge

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"xlarun/graph/lower"
	"xlarun/internal/protobuf"
	"xlarun/xlabridge/topology"
)

// Options holds the options of Open. The zero value is the CPU plugin with one device and the user's compile cache.
type Options struct {
	// Backend is "cpu", "cuda", "rocm" or "tpu"; "" means "cpu".
	Backend string
	// PluginPath is the plugin's shared library or its folder. If it is empty, the plugin is searched for, and
	// installed if necessary.
	PluginPath string
	// LibraryDirs are folders of shared libraries to open before the plugin, such as NVIDIA's for cuda. They are not
	// needed for an installed plugin.
	LibraryDirs []string
	// Devices is the number of CPU devices, each with its own thread, at most MaxCPUDevices; 0 means 1. Other backends
	// have all devices of the machine.
	Devices int
	// Topology, if not nil, makes a client that compiles for these devices, which need not be there, and runs nothing:
	// Client.Compile returns a program, and calling it is an error, as is calling a function of Jit.
	Topology *topology.Topology
	// Zeros makes the calls of a topology's programs return zeros of the right shapes instead of the error. It is for
	// programs whose shapes follow from results.
	Zeros bool
	// Renew compiles programs again that are in the cache without having been compiled on their device. Such programs
	// lack the compiler's measurements on the device.
	Renew bool
	// Compiled, if not nil, is called with each program that Client.Compile has compiled or loaded.
	Compiled func(*Compiled)
	// CacheDir is the folder of compiled programs; "" means cache.DefaultDir(). XLARUN_CACHE_MAX limits its size.
	CacheDir string
	// NoCache compiles every program and stores none.
	NoCache bool
	// PlansOnly compiles every program and stores none, but keeps the store of plans (rollout/plan) beside them.
	PlansOnly bool
	// Offline forbids the download of a plugin that is not installed.
	Offline bool
	// Progress and Notice, if not nil, receive the progress of a plugin's download (see plugin.Request).
	Progress func(done, total int64)
	Notice   func(line string)
	// Warn, if not nil, receives one sentence for each damaged entry of the cache, one if the cache cannot be written,
	// and one before a CPU's compiler takes minutes for a program, with the line that is the reason. Its calls come
	// from any goroutine that compiles, one at a time.
	Warn func(line string)
	// Distributed, if not nil, makes the client one of several processes.
	Distributed *Distributed
	// DeviceMemory says how much of a GPU's memory the client takes.
	DeviceMemory DeviceMemoryOptions
	// Client holds further options of the plugin's client, by the plugin's names. Values are string, bool, int, int64,
	// []int64 or float32.
	Client map[string]any
}

// DeviceMemoryOptions are the options of the client of a GPU for its memory. The zero value is the plugin's default:
// three quarters, taken at the start.
type DeviceMemoryOptions struct {
	// Fraction is the part of the memory of each device that the client may use, above 0 to 1; 0: the plugin's default.
	Fraction float64
	// OnDemand takes memory as it is needed, and keeps it, instead of taking all of Fraction at the start.
	OnDemand bool
}

// limitsMemory tells if the plugin of a backend takes the memory of a device at the start.
func limitsMemory(backend string) bool { return backend == "cuda" || backend == "rocm" }

// Check returns an error if a client of the backend does not take the options. The error begins with the name of an
// option's flag. topology says that the client is one for devices that need not be there.
func (m DeviceMemoryOptions) Check(backend string, topology bool) error {
	got := fmt.Sprintf("memory-fraction got %v", m.Fraction)
	if m.Fraction == 0 {
		got = fmt.Sprintf("preallocate got %v", !m.OnDemand)
	}
	switch {
	case math.IsNaN(m.Fraction) || m.Fraction < 0 || m.Fraction > 1:
		return fmt.Errorf("%s, wants a number above 0 and at most 1, or 0 for the plugin's default", got)
	case m == DeviceMemoryOptions{}:
		return nil
	case topology:
		return fmt.Errorf("%s, wants no value for a topology, whose devices need not be there: leave it out", got)
	case !limitsMemory(backend):
		return fmt.Errorf("%s, wants no value: only cuda and rocm take a part of a GPU's memory; leave it out, or use "+
			"one of these backends", got)
	}
	return nil
}

// set adds the options under the plugin's names (xla/pjrt/c/pjrt_c_api_gpu_internal.cc).
func (m DeviceMemoryOptions) set(options map[string]any) {
	if m.Fraction > 0 {
		options["memory_fraction"] = float32(m.Fraction)
	}
	if m.OnDemand {
		options["preallocate"] = false
	}
}

// MaxCPUDevices is the largest number of devices of a CPU. XLA runs the replicas of a program in a pool of at most 256
// threads, and each waits in its thread for the others: with more replicas than threads, a program with a collective
// would never end.
const MaxCPUDevices = 256

// CompileOptions holds the options for compiling a program.
type CompileOptions struct {
	// Replicas is the number of devices that run the program together; 0 means 1.
	Replicas int
	// AllCores lets a CPU device split its loops over all cores. It is for a program that runs alone, such as a
	// training step on one device. Matrix products and convolutions always use all cores.
	AllCores bool
	// OneDevice says that the program runs on one device while the client's other devices are idle. It then uses all
	// cores if there is enough work for each (lower.Policy). It changes no result.
	OneDevice bool
	// XLA overrides compiler options by XLA's names without dashes
	// ("xla_cpu_enable_fast_math": true). Values are string, bool, int, int64 or float64.
	XLA map[string]any
	// NoCache compiles the program and does not store it.
	NoCache bool
	// Purpose describes the use of the program in a few words, for the cache's list only.
	Purpose string

	// alone is set by ForJit (lower.Use).
	alone bool
	// slow says why it takes minutes to compile the program, if it does; nil: nobody looks.
	slow func() string
}

// ForJit returns the options with which Jit compiles a program: it uses all cores if there is enough work for each, and
// the last digits of its results may change with the compiler's options.
func (o CompileOptions) ForJit(b Backend) CompileOptions {
	o.alone, o.OneDevice = true, o.OneDevice || b.NumDevices() == 1
	return o
}

func (o CompileOptions) use() lower.Use {
	return lower.Use{Alone: o.alone, OneDevice: o.OneDevice, AllCores: o.AllCores}
}

// Field numbers of CompileOptionsProto and OptionOverrideProto.
const (
	fieldEnvOptionOverrides = 7
	fieldMapKey             = 1
	fieldMapValue           = 2
	fieldString             = 1
	fieldBool               = 2
	fieldInt                = 3
	fieldDouble             = 4
)

// appendOverrides appends compiler option overrides to a serialized CompileOptionsProto, in the
// order of their names so that equal options are equal bytes.
func appendOverrides(proto []byte, overrides map[string]any) ([]byte, error) {
	options := protobuf.Message(proto)
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		var entry, value protobuf.Message
		switch v := overrides[name].(type) {
		case string:
			value.Text(fieldString, v)
		case bool:
			value.Bool(fieldBool, v)
		case int:
			value.Int(fieldInt, int64(v))
		case int64:
			value.Int(fieldInt, v)
		case float64:
			value.Double(fieldDouble, v)
		default:
			return nil, fmt.Errorf("compiler option %q: got a %T, wanted a string, bool, int, int64 or float64", name,
				v)
		}
		entry.Text(fieldMapKey, name)
		entry.Bytes(fieldMapValue, value)
		options.Bytes(fieldEnvOptionOverrides, entry)
	}
	return options, nil
}
