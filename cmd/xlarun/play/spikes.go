package play

import (
	"fmt"
	"os"
	"path/filepath"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/plots"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// The files of the pictures of a spiking policy.
const rasterName, membraneName, weightsName = "raster.png", "membrane.png", "weights.png"

// checkSpikes returns an error if --spikes is set and the policy's neurons cannot be recorded, or the folder cannot be
// made.
func (o *rendering) checkSpikes(m *episode.Member) error {
	if o.spikes == "" {
		return nil
	}
	if m.Policy.Traits().Tracer == nil {
		return console.BadInput("--spikes got %q, but the policy %s has no spiking neurons that can be recorded: "+
			"leave it out, or give a run of --policy spiking", o.spikes, o.policy)
	}
	return checkParent("--spikes", o.spikes)
}

// drawSpikes plays the episode again, traces the neurons, and writes pictures of their activity.
func (o *rendering) drawSpikes(b xlabridge.Backend, m *episode.Member) (files []string, err error) {
	layers, matrices, substep, err := traceSpikes(b, m, o.seed)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.spikes, 0o755); err != nil {
		return nil, fmt.Errorf("the folder %s cannot be made (%w): --spikes DIR takes another", o.spikes,
			console.Cause(err))
	}
	for _, picture := range []struct {
		name string
		draw func() ([]byte, error)
	}{
		{rasterName, func() ([]byte, error) { return plots.Raster(o.title, layers, substep) }},
		{membraneName, func() ([]byte, error) { return plots.Membranes(o.title, layers, substep) }},
		{weightsName, func() ([]byte, error) { return plots.Weights(matrices) }},
	} {
		data, err := picture.draw()
		if err != nil {
			return nil, err
		}
		if data == nil { // the layers have no potentials
			continue
		}
		path := filepath.Join(o.spikes, picture.name)
		if err := console.WriteFile(path, data); err != nil {
			return nil, fmt.Errorf("the picture %s cannot be written (%w): --spikes DIR takes another folder", path,
				console.Cause(err))
		}
		files = append(files, path)
	}
	return files, nil
}

// traceSpikes returns the activity of a member's spiking neurons in the episode of a seed, and their weights. substep
// is the time between two rows of a layer, in ms.
func traceSpikes(b xlabridge.Backend, m *episode.Member, seed int64) (layers []plots.SpikingLayer,
	matrices []plots.Matrix, substep float64, err error) {
	tracer := m.Policy.Traits().Tracer
	if tracer == nil {
		return nil, nil, 0, fmt.Errorf("the policy has no spiking neurons")
	}
	recorder, err := episode.NewTracer(b, m.Rollout, m.Params)
	if err != nil {
		return nil, nil, 0, err
	}
	defer func() { _ = recorder.Close() }()
	key := run.EpisodesKey(seed)
	rec, err := recorder.Record(m.Params, key)
	if err != nil {
		return nil, nil, 0, err
	}
	type trace struct {
		Layers  []policy.LayerTrace
		Weights []*graph.Array
	}
	var names []string
	traceProgram := xlabridge.Jit2(b, func(params any, observations *graph.Array) trace {
		steps := graph.Iota(rec.Length).Add(1)
		keys := graph.VMap(func(t *graph.Array) random.Key { return random.FoldIn(episode.PolicyKey(key), t) })(steps)
		var out trace
		out.Layers = tracer.Trace(params, observations, keys)
		names, out.Weights = tracer.Weights(params)
		return out
	})
	traced, err := traceProgram(m.Params, rec.Trajectory()["observations"])
	if err != nil {
		return nil, nil, 0, err
	}
	for i, t := range traced.Layers {
		l := plots.SpikingLayer{Name: fmt.Sprintf("layer %d", i+1), Units: t.Spikes.Dim(1)}
		if l.Spikes, err = graph.Floats(t.Spikes); err != nil {
			return nil, nil, 0, err
		}
		if t.Potential != nil {
			if l.Potentials, err = graph.Floats(t.Potential); err != nil {
				return nil, nil, 0, err
			}
		}
		layers = append(layers, l)
	}
	for i, w := range traced.Weights {
		v, err := graph.Floats(w)
		if err != nil {
			return nil, nil, 0, err
		}
		matrices = append(matrices, plots.Matrix{Name: names[i], Rows: w.Dim(0), Columns: w.Dim(1), Values: v})
	}
	return layers, matrices, tracer.SubstepMS, nil
}
