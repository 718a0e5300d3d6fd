package xlabridge

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
)

// BenchmarkExecute is the cost of a call of a program that does next to nothing.
func BenchmarkExecute(b *testing.B) {
	c, err := Open(b.Context(), Options{CacheDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	e, err := c.CompileText("axpy", axpyText, CompileOptions{})
	if err != nil {
		b.Fatal(err)
	}
	x, err := c.toDevice(f32Bytes(1, 2, 3), dtypes.Float32, []int{3}, 0)
	if err != nil {
		b.Fatal(err)
	}
	inputs := [][]*buffer{{x, x}}
	for b.Loop() {
		out, err := e.execute(inputs, nil)
		if err != nil {
			b.Fatal(err)
		}
		for _, o := range out[0] {
			_ = o.Close()
		}
	}
}

// BenchmarkTransfer is a vector of 1 KiB to the device and back.
func BenchmarkTransfer(b *testing.B) {
	c, err := Open(b.Context(), Options{NoCache: true})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	data := make([]byte, 1024)
	for b.Loop() {
		x, err := c.toDevice(data, dtypes.Float32, []int{256}, 0)
		if err != nil {
			b.Fatal(err)
		}
		if err := x.ToHost(data); err != nil {
			b.Fatal(err)
		}
		_ = x.Close()
	}
}

// BenchmarkCompileHit is the load of a small program from the cache.
func BenchmarkCompileHit(b *testing.B) {
	c, err := Open(b.Context(), Options{CacheDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for b.Loop() {
		e, err := c.CompileText("axpy", axpyText, CompileOptions{})
		if err != nil {
			b.Fatal(err)
		}
		_ = e.Close()
	}
}

// BenchmarkOpen is a client on a plugin that is open already.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		c, err := Open(b.Context(), Options{NoCache: true})
		if err != nil {
			b.Fatal(err)
		}
		_ = c.Close()
	}
}
