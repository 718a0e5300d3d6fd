package main

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
)

func TestMain(m *testing.M) { shelltest.Main(m, main) }

// 30.278: the program passes its exit status on, here 2.
func TestExitStatus(t *testing.T) {
	require.Contains(t, shelltest.New(t).Refused(t, "evolve", "--pop", "0"), "--pop got 0")
}

// pictures writes a folder with the four files of a small data set like MNIST.
func pictures(t *testing.T, s *shelltest.Shell, name string) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	write := func(file string, limit byte, dims ...int) {
		text, n := []byte{0, 0, 8, byte(len(dims))}, 1
		for _, d := range dims {
			text, n = binary.BigEndian.AppendUint32(text, uint32(d)), n*d
		}
		for i := range n {
			x := byte(i)
			if len(dims) > 1 {
				x = byte(r.IntN(256))
			}
			text = append(text, x%limit)
		}
		require.NoError(t, os.WriteFile(s.Path(name, file), text, 0o600))
	}
	require.NoError(t, os.MkdirAll(s.Path(name), 0o755))
	write("train-images-idx3-ubyte", 255, 101, 5, 5)
	write("train-labels-idx1-ubyte", 10, 101)
	write("t10k-images-idx3-ubyte", 255, 37, 5, 5)
	write("t10k-labels-idx1-ubyte", 10, 37)
}
