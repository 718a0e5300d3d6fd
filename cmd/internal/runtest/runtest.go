// Package runtest has small runs of every kind, which tests of commands share: their programs are compiled once for the
// whole suite. Seeds, rates and lengths compile nothing, so a test may change those. What a run is made of it should
// leave alone.
package runtest

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Run is a command line, and its name in tests.
type Run struct {
	Name string
	Long bool // only the long form of TestGolden runs it; tests of its package compare it with oracles
	args string
}

// Runs of one environment and policy share what evaluates and records members.
const (
	pendulum = " Pendulum-v1 --policy mlp:9,5 --steps 60 --target 0 --eval-episodes 2 --eval-every 2 --devices 2 "
	evolve   = "evolve --generations 5 --tune off --hall-of-fame 0 "
	// ppo is with the default settings instead of those that are suggested for CartPole.
	ppo = "ppo CartPole-v1 --epochs 4 --minibatches 4 --learning-rate 0.00025 --gamma 0.99 --lambda 0.95 " +
		"--entropy-coef 0.01 "
	sparse = "sparse --data pictures --pop 5 --batch 7 --hidden 9,5 --updates 43 --mutate-every 15 --seed 4 " +
		"--devices 2 "
)

// All are the runs. TestGolden has recorded what they come to.
var All = []Run{
	{"openes", false, evolve + pendulum + "--pop 66 --episodes 3 --seed 11"},
	{"openes, tiles, batch last", true, evolve + pendulum + "--pop 64 --batch-last --unroll 2 --tile 16"},
	{"pgpe", true, evolve + pendulum + "--strategy pgpe --pop 38 --policy mlp:12 --strategy.sigma 0.2 --seed 5"},
	{"simplega", true, evolve + pendulum + "--strategy simplega --pop 51 --policy mlp:12 --seed 5"},
	{"reference", false,
		evolve + pendulum + "--jit=false --devices 1 --pop 6 --steps 20 --policy mlp:3 --generations 3"},
	{"spiking", false, evolve + "Forage-L0-v1 --pop 32 --policy spiking:8 --steps 30 --generations 3 --target 0 " +
		"--eval-every 3 --eval-episodes 2 --devices 2 --seed 5"},
	{"islands", false, "islands --generations 12 --tune off --islands 4 --migrants 2 --pop 16 " +
		"--strategy.sigma 0.05..0.3 --seed 3" + pendulum},
	{"qd", true, "qd --generations 5 --batch 32 --archive grid:4 --descriptor observations " +
		"--descriptor.elements 0,1 --descriptor.bounds -1,1,-1,1 --seed 3" + pendulum},
	{"ppo", false, ppo + "--policy mlp:16 --target 0 --devices 2 --envs 16 --horizon 16 --steps 2048 " +
		"--seed 3"},
	{"ppo, memory, half precision", true, ppo + "--target 0 --devices 1 --envs 8 --horizon 16 " +
		"--policy gru:8 --shared --precision f16 --accumulate 2 --steps 1024 --seed 3"},
	{"pqn", true, "pqn CartPole-v1 --target 0 --devices 1 --envs 8 --horizon 16 --steps 1024 --seed 3"},
	// The programs of TestAShortRunLearns in rollout/selfplay.
	{"selfplay", false, "selfplay --vertices 5 --k 3 --devices 2 --network mlp:32 --num-iterations 3 " +
		"--num-episodes 64 --training-batch-size 64 --num-simulations 8 --seed 3"},
	{"sparse, kernel", false, sparse + "--method kernel"},
	{"sparse, kernel in bf16", false, sparse + "--method kernel --dtype bf16"},
	{"sparse, masked", true, sparse + "--method masked"},
	{"sparse, blocks", true, sparse + "--method blocks"},
}

// Args is the run's command line. Sparse runs want Pictures in the folder "pictures".
func (r Run) Args() []string { return strings.Fields(r.args) }

// Small is the command line of the run with a name, followed by more arguments, which win.
func Small(t testing.TB, name string, more ...string) []string {
	t.Helper()
	i := slices.IndexFunc(All, func(r Run) bool { return r.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return append(All[i].Args(), more...)
}

// Pictures writes a folder with the four files of a small data set like MNIST, of noise.
func Pictures(t testing.TB, folder string) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for _, part := range []struct {
		name string
		n    int
	}{{"train", 101}, {"t10k", 37}} {
		pixels, labels := make([]byte, part.n*5*5), make([]byte, part.n)
		for i := range pixels {
			pixels[i] = byte(r.IntN(256)) % 255
		}
		for i := range labels {
			labels[i] = byte(i) % 10
		}
		WritePart(t, folder, part.name, 5, pixels, labels)
	}
}

// WritePart writes the two files of a part of a data set like MNIST: square pictures with this many rows, and labels.
func WritePart(t testing.TB, folder, part string, rows int, pixels, labels []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(folder, 0o755))
	write := func(file string, content []byte, dims ...int) {
		text := []byte{0, 0, 8, byte(len(dims))}
		for _, d := range dims {
			text = binary.BigEndian.AppendUint32(text, uint32(d))
		}
		require.NoError(t, os.WriteFile(filepath.Join(folder, part+file), append(text, content...), 0o600))
	}
	write("-images-idx3-ubyte", pixels, len(labels), rows, rows)
	write("-labels-idx1-ubyte", labels, len(labels))
}
