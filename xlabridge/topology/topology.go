// Package topology names the devices that programs are compiled for without having them: cards of NVIDIA, boxes of
// several cards, and slices of TPUs. The figures are in third_party/topologies.toml.
package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	thirdparty "xlarun/third_party"
)

// Topology is one or several equal devices.
type Topology struct {
	// Name is what Parse takes: "h100", "h100x8", "v5e:2x2".
	Name string
	// Backend is "cuda" or "tpu".
	Backend string
	// Kind is the name that the driver gives a device: "NVIDIA H100 80GB HBM3".
	Kind string
	// Devices is the number of devices.
	Devices int
	// Memory and Bandwidth count one device, in bytes and bytes a second.
	Memory, Bandwidth int64
	// Source says where the figures are published.
	Source string

	device *device
	slice  string
}

// capability has the limits that follow from a CUDA compute capability.
type capability struct {
	Name        string `toml:"name"`
	Source      string `toml:"source"`
	Lanes       int    `toml:"lanes"`        // float32 lanes of a core
	Threads     int    `toml:"threads"`      // resident threads of a core
	Shared      int    `toml:"shared"`       // bytes of shared memory of a core
	SharedBlock int    `toml:"shared_block"` // bytes of shared memory that a block may ask for
}

// device is an entry of the table.
type device struct {
	Name       string   `toml:"name"`
	Backend    string   `toml:"backend"`
	Kind       string   `toml:"kind"`
	Source     string   `toml:"source"`
	Capability string   `toml:"capability"`
	Cores      int      `toml:"cores"`
	Memory     int64    `toml:"memory"`
	Bandwidth  int64    `toml:"bandwidth"`
	L2         int64    `toml:"l2"`
	Clock      float64  `toml:"clock"`
	Boxes      []int    `toml:"boxes"`
	Flops      float64  `toml:"flops"`
	PerChip    int      `toml:"per_chip"`
	Slices     []string `toml:"slices"`

	limits *capability
}

var table = sync.OnceValue(func() []device {
	var file struct {
		Capability []capability `toml:"capability"`
		Device     []device     `toml:"device"`
	}
	d := toml.NewDecoder(strings.NewReader(string(thirdparty.Topologies))).DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		panic(fmt.Sprintf("topology: third_party/topologies.toml: %v", err)) // a test reads it
	}
	for i := range file.Device {
		for j := range file.Capability {
			if file.Capability[j].Name == file.Device[i].Capability {
				file.Device[i].limits = &file.Capability[j]
			}
		}
	}
	return file.Device
})

// Names lists the topologies of a backend, or of all backends if it is "".
func Names(backend string) []string {
	var names []string
	for _, d := range table() {
		if backend != "" && d.Backend != backend {
			continue
		}
		if len(d.Slices) == 0 {
			names = append(names, d.Name)
		}
		for _, n := range d.Boxes {
			names = append(names, fmt.Sprintf("%sx%d", d.Name, n))
		}
		for _, s := range d.Slices {
			names = append(names, d.Name+":"+s)
		}
	}
	return names
}

// MostCards is the largest number of cards of a box.
const MostCards = 64

// Parse returns the topology of a name. Boxes of other sizes than those sold are topologies too.
func Parse(name string) (Topology, error) {
	for i := range table() {
		d := &table()[i]
		rest, ok := strings.CutPrefix(name, d.Name)
		if !ok {
			continue
		}
		t := Topology{Name: name, Backend: d.Backend, Kind: d.Kind, Devices: 1, Memory: d.Memory,
			Bandwidth: d.Bandwidth, Source: d.Source, device: d}
		switch {
		case d.Backend == "tpu" && rest == "":
			return Topology{}, fmt.Errorf("got the slice %s without its shape, wants one such as %s:%s", name, d.Name,
				d.Slices[0])
		case d.Backend == "tpu" && slices.Contains(d.Slices, strings.TrimPrefix(rest, ":")):
			t.slice, t.Devices = strings.TrimPrefix(rest, ":"), d.PerChip
			for n := range strings.SplitSeq(t.slice, "x") {
				chips, _ := strconv.Atoi(n)
				t.Devices *= chips
			}
			return t, nil
		case d.Backend == "tpu" && rest[0] == ':':
			return Topology{}, fmt.Errorf("got the shape %s of %s, wants one of %s", rest[1:], d.Name,
				strings.Join(d.Slices, ", "))
		case rest == "":
			return t, nil
		case d.Backend != "tpu" && rest[0] == 'x':
			n, err := strconv.Atoi(rest[1:])
			if err != nil || n < 1 || n > MostCards || strconv.Itoa(n) != rest[1:] {
				return Topology{}, fmt.Errorf("got %s, wants 1 to %d cards, such as %sx8", name, MostCards, d.Name)
			}
			t.Devices = n
			return t, nil
		}
	}
	hint := ""
	if near := nearest(name); near != "" {
		hint = fmt.Sprintf(", did you mean %s?", near)
	}
	return Topology{}, fmt.Errorf("got %q, wants a card (%s), a box of cards such as h100x8, or a slice of TPUs (%s) "+
		"such as v5e:2x2%s", name, strings.Join(names("cuda"), ", "), strings.Join(names("tpu"), ", "), hint)
}

// nearest returns the topology that another spelling of a name means, or "". It knows capital letters, and the
// accelerator types of Google Cloud: v5litepod-4 and v6e-8 count chips, v4-8 and v5p-8 count cores, two in a chip.
func nearest(name string) string {
	lower := strings.ToLower(strings.TrimSpace(name))
	if lower != name { // Parse asks nearest again, with the lower-case name
		if _, err := Parse(lower); err == nil {
			return lower
		}
	}
	generation, count, ok := strings.Cut(lower, "-")
	n, err := strconv.Atoi(count)
	if !ok || err != nil {
		return ""
	}
	generation = strings.Replace(generation, "litepod", "e", 1)
	for _, d := range table() {
		if d.Backend != "tpu" || d.Name != generation {
			continue
		}
		if generation == "v4" || generation == "v5p" {
			n /= 2
		}
		for _, s := range d.Slices {
			if t, err := Parse(d.Name + ":" + s); err == nil && t.Devices == n*d.PerChip {
				return t.Name
			}
		}
	}
	return ""
}

// OfKind returns the topology of n devices of a kind, as the driver names it. ok is false if the table has none.
func OfKind(kind string, n int) (t Topology, ok bool) {
	for _, d := range table() {
		if d.Kind != kind {
			continue
		}
		names := []string{fmt.Sprintf("%sx%d", d.Name, n)}
		if n == 1 {
			names = []string{d.Name}
		}
		if d.Backend == "tpu" {
			names = each(d.Slices, func(s string) string { return d.Name + ":" + s })
		}
		for _, name := range names {
			if t, err := Parse(name); err == nil && t.Devices == n {
				return t, true
			}
		}
	}
	return Topology{}, false
}

func each(from []string, f func(string) string) []string {
	out := make([]string, len(from))
	for i, x := range from {
		out[i] = f(x)
	}
	return out
}

// With returns a topology of n devices of the same kind: a box of n cards, or the smallest slice with as many devices.
func (t Topology) With(n int) (Topology, error) {
	if t.Backend != "tpu" {
		return Parse(fmt.Sprintf("%sx%d", t.device.Name, n))
	}
	for _, s := range t.device.Slices { // from small to large
		if other, err := Parse(t.device.Name + ":" + s); err == nil && other.Devices >= n {
			return other, nil
		}
	}
	return Topology{}, fmt.Errorf("there is no slice of %s with %d devices", t.device.Name, n)
}

// names lists the names of a backend's devices: cards, or generations of TPUs.
func names(backend string) []string {
	var all []string
	for _, d := range table() {
		if d.Backend == backend {
			all = append(all, d.Name)
		}
	}
	return all
}

// Options returns the plugin's name of the topology and its options by name.
func (t Topology) Options() (name string, options map[string]string) {
	if t.Backend == "tpu" {
		return t.Name, nil
	}
	// slices x hosts x cards of a host
	return t.device.Name, map[string]string{"topology": fmt.Sprintf("1x1x%d", t.Devices),
		"target_config": t.device.config()}
}

// Capability returns the CUDA compute capability of a card without its point: 90 for 9.0; 0 for a TPU.
func (t Topology) Capability() int {
	if t.Backend == "tpu" {
		return 0
	}
	n, _ := strconv.Atoi(strings.ReplaceAll(t.device.Capability, ".", ""))
	return n
}

// Config returns the text of XLA's GpuTargetConfigProto of a card; "" for a TPU.
func (t Topology) Config() string {
	if t.Backend == "tpu" {
		return ""
	}
	return t.device.config()
}

// config returns the text of XLA's GpuTargetConfigProto (xla/service/gpu/gpu_device_info_for_tests and
// stream_executor/device_description.proto name the fields). Limits that are equal for all cards come from the CUDA
// C++ Programming Guide.
func (d *device) config() string {
	major, minor, _ := strings.Cut(d.Capability, ".")
	var b strings.Builder
	fmt.Fprintf(&b, "gpu_device_info {\n")
	for _, f := range []struct {
		name  string
		value any
	}{
		{"threads_per_block_limit", 1024}, {"threads_per_warp", 32}, {"shared_memory_per_block", 48 << 10},
		{"shared_memory_per_core", d.limits.Shared}, {"threads_per_core_limit", d.limits.Threads},
		{"core_count", d.Cores}, {"fpus_per_core", d.limits.Lanes}, {"block_dim_limit_x", 1<<31 - 1},
		{"block_dim_limit_y", 1<<16 - 1}, {"block_dim_limit_z", 1<<16 - 1}, {"memory_bandwidth", d.Bandwidth},
		{"l2_cache_size", d.L2}, {"clock_rate_ghz", d.Clock}, {"device_memory_size", d.Memory},
		{"shared_memory_per_block_optin", d.limits.SharedBlock}, {"registers_per_core_limit", 1 << 16},
		{"registers_per_block_limit", 1 << 16},
	} {
		fmt.Fprintf(&b, "  %s: %v\n", f.name, f.value)
	}
	fmt.Fprintf(&b, "  cuda_compute_capability { major: %s minor: %s }\n}\n", major, minor)
	fmt.Fprintf(&b, "platform_name: \"CUDA\"\n")
	fmt.Fprintf(&b, "dnn_version_info { major: %d minor: %d }\n", cuDNNMajor, cuDNNMinor)
	fmt.Fprintf(&b, "runtime_version { major: %d minor: %d }\n", cudaMajor, cudaMinor)
	fmt.Fprintf(&b, "device_description_str: %q\n", d.Kind)
	return b.String()
}

// The CUDA release and cuDNN of the pinned wheels (third_party/plugins.toml).
const (
	cudaMajor, cudaMinor   = 13, 1
	cuDNNMajor, cuDNNMinor = 9, 20
)
