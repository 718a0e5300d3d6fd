package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"xlarun/envs/bodies"
	"xlarun/graph"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
)

// bodiesSteps are the steps of a run, each of some substeps. Members start at rest in the model's first position, and
// what contacts there are comes of their controls.
const bodiesSteps = 100

// bodiesPeers is the most members that MuJoCo runs for one of a workload: it computes them one by one, so that the time
// of the others follows.
const bodiesPeers = 32

// bodiesWorkloads are steps of Gymnasium's MuJoCo tasks without what is observed and rewarded.
func bodiesWorkloads(Options) (all []Workload) {
	for _, x := range []struct {
		task string
		skip int
	}{{"HalfCheetah", 5}, {"Hopper", 4}, {"Walker2d", 4}, {"Ant", 5}, {"Humanoid", 5},
		{"Swimmer", 4}, {"Reacher", 2}, {"Pusher", 5}, {"InvertedPendulum", 2},
		{"InvertedDoublePendulum", 5}} {
		for _, members := range []int{256, 4096, 1, 8, 64} {
			w := Workload{Name: fmt.Sprintf("%s-%d", strings.ToLower(x.task), members), Unit: "substeps",
				What: fmt.Sprintf("%d steps of %d substeps of %d members of %s", bodiesSteps, x.skip, members, x.task),
				Work: float64(bodiesSteps * x.skip * members), Open: bodiesOf(x.task, x.skip, members),
				Peers: []Peer{{Name: "MuJoCo", Script: "mujoco_steps.py", Other: true,
					Args: []string{x.task, strconv.Itoa(members), strconv.Itoa(bodiesSteps),
						strconv.Itoa(bodiesPeers)}}}}
			if members < 256 && x.task != "HalfCheetah" && x.task != "Hopper" && x.task != "Ant" {
				w = explicit(w)
			}
			all = append(all, w)
		}
	}
	return all
}

// bodiesModel reads a task's model and its first position.
func bodiesModel(task string) (*bodies.Model, []float64, error) {
	var file struct {
		Tasks []struct {
			Name  string
			Model *bodies.Model
		}
	}
	path := filepath.FromSlash("envs/bodies/testdata/mujoco4.json.gz")
	err := oracles.Read(path, &file)
	for range 3 { // tests run in the package's folder
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		path = filepath.Join("..", path)
		err = oracles.Read(path, &file)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errors.New("the models are in the repository: run bench bodies in its folder")
	}
	if err != nil {
		return nil, nil, err
	}
	for _, x := range file.Tasks {
		if x.Name == task {
			return x.Model, x.Model.Rest(), nil
		}
	}
	return nil, nil, fmt.Errorf("%s has no task %s", path, task)
}

// bodiesOf runs a task's members side by side, by controls that are sines of the step, the member and the actuator.
func bodiesOf(task string, skip, members int) openRunner {
	return func(_ context.Context, _ *host, b xlabridge.Backend, _ Options) (*Runner, error) {
		m, position, err := bodiesModel(task)
		if err != nil {
			return nil, err
		}
		start := time.Now()
		_, nv, nu := m.Sizes()
		in := []any{graph.Arange(0, members, 1).Convert(graph.Float32),
			graph.Float64s(position, len(position)).Convert(graph.Float32)}
		p, err := graph.TraceArgs("bodies", in, graph.TraceOptions{}, func(in []any) any {
			member, first := in[0].(*graph.Array), in[1].(*graph.Array)
			still := graph.Zeros(graph.ShapeOf(graph.Float32, nv))
			run := graph.VMap(func(member *graph.Array) *graph.Array {
				phases := graph.Add(graph.Mul(graph.Arange(0, nu, 1).Convert(graph.Float32), 2.4),
					graph.Mul(member, .37))
				end, _ := graph.Scan(func(d bodies.Data, t *graph.Array) (bodies.Data, graph.None) {
					d, _ = m.Step(d, graph.Sin(graph.Add(phases, graph.Mul(t, .3))), bodies.Params{},
						bodies.Options{Skip: skip})
					return d, graph.None{}
				}, bodies.Data{Q: first, V: still, Warm: still}, graph.Arange(0, bodiesSteps, 1).Convert(graph.Float32))
				return graph.Mean(end.V)
			})
			return graph.Mean(run(member))
		})
		if err != nil {
			return nil, err
		}
		return compileProgram(b, xlabridge.CompileOptions{}, start, p, in, nil)
	}
}
