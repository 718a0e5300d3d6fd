//go:build !cgo

package xlabridge

import (
	"context"
	"errors"

	"xlarun/graph"
	"xlarun/xlabridge/cache"
	"xlarun/xlabridge/topology"

	"github.com/gomlx/compute/dtypes"
)

// This file stands for the bridge in a program that was built without a C compiler. Open refuses each backend, so no
// Client, buffer or Executable is ever made, and their methods are not called. Programs run on the Reference.

var errWithoutC = errors.New("this program was built without C, so it cannot load an XLA plugin: run it with " +
	"--backend reference, or build it with a C compiler and CGO_ENABLED=1")

// Client is an open backend. There is none in a program without C.
type Client struct {
	topology *absentDevices
	compiled func(*Compiled)
	switches kernelSwitches
	target   graph.Target
	cudaData string
}

type absentDevices struct {
	topology.Topology
	zeros bool
}

func (t *absentDevices) notRun(string) error { return errWithoutC }

// buffer is an array on a device.
type buffer struct{}

// Executable is a compiled program.
type Executable struct {
	info CompileInfo
	name string
}

const extraOptions = "xla_backend_extra_options"

// Open returns an error: plugins are loaded by C.
func Open(context.Context, Options) (*Client, error) { return nil, errWithoutC }

// Preload does nothing.
func (Options) Preload() {}

func noClient[T any]() (none T) { panic(errWithoutC) }

func (c *Client) Backend() string                                            { return noClient[string]() }
func (c *Client) NumDevices() int                                            { return noClient[int]() }
func (c *Client) NumGlobalDevices() (int, error)                             { return 0, errWithoutC }
func (c *Client) DeviceKind() string                                         { return noClient[string]() }
func (c *Client) Platform() string                                           { return noClient[string]() }
func (c *Client) PlatformVersion() string                                    { return noClient[string]() }
func (c *Client) PluginPath() string                                         { return noClient[string]() }
func (c *Client) Fingerprint() string                                        { return noClient[string]() }
func (c *Client) Cache() *cache.Cache                                        { return noClient[*cache.Cache]() }
func (c *Client) Topology() *topology.Topology                               { return noClient[*topology.Topology]() }
func (c *Client) HasKernels() bool                                           { return noClient[bool]() }
func (c *Client) Memory(int) (DeviceMemory, error)                           { return DeviceMemory{}, errWithoutC }
func (c *Client) ReturnMemory()                                              {}
func (c *Client) Close() error                                               { return errWithoutC }
func (c *Client) DeviceDescriptions() ([]string, error)                      { return nil, errWithoutC }
func (c *Client) PluginAPI() (major, minor int)                              { return }
func (c *Client) StableHLO() string                                          { return "" }
func (c *Client) forget(*handle)                                             {}
func (c *Client) toDevice([]byte, dtypes.DType, []int, int) (*buffer, error) { return nil, errWithoutC }
func (c *Client) absent(dtypes.DType, []int, int) (*buffer, error)           { return nil, errWithoutC }
func (c *Client) CompileText(string, string, CompileOptions) (*Executable, error) {
	return nil, errWithoutC
}
func (c *Client) compileText(string, string, map[string]any, CompileOptions) (*Executable, error) {
	return nil, errWithoutC
}

func (b *buffer) Bytes() ([]byte, error)        { return nil, errWithoutC }
func (b *buffer) ToHost([]byte) error           { return errWithoutC }
func (b *buffer) view(func([]byte) error) error { return errWithoutC }
func (b *buffer) Close() error                  { return errWithoutC }

func (e *Executable) Info() CompileInfo                               { return e.info }
func (e *Executable) Memory() (ProgramMemory, error)                  { return ProgramMemory{}, errWithoutC }
func (e *Executable) Cost() (map[string]float64, error)               { return nil, errWithoutC }
func (e *Executable) Optimized() (string, []byte, error)              { return "", nil, errWithoutC }
func (e *Executable) Estimate() (float64, error)                      { return 0, errWithoutC }
func (e *Executable) execute([][]*buffer, []int) ([][]*buffer, error) { return nil, errWithoutC }
func (e *Executable) Close() error                                    { return errWithoutC }
