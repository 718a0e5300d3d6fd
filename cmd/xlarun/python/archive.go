package python

import (
	"fmt"
	"slices"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/qd"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// archiveSettings are the settings of `xlarun qd` that a search has which does not play, and those of its archiveParts.
var (
	archiveSettings = []string{"archive", "emitter", "strategy", "qd-offset", "learning-rate", "threshold-min"}
	archiveParts    = archiveSettings[:3]
)

// archive makes a search that fills an archive, as `xlarun qd` does with the same settings. Python writes the members
// of the first generation, and calls "start".
func (s *Server) archive(in *searchArgument, names keywords) (o object, description map[string]any, err error) {
	c := qd.DefaultConfig()
	names["batch"] = "popsize"
	names.add("", "", archiveSettings...)
	for _, p := range c.Parts() {
		if slices.Contains(archiveParts, p.Name) {
			for _, choice := range p.Choices {
				names.add(p.Name+".", p.Name+"_", settings.Names(choice)...)
			}
		}
	}
	c.Batch, c.Seed = in.Popsize, in.Seed
	own := settings.Values{}
	for name, value := range valuesOf(in.Settings) {
		part, rest, _ := strings.Cut(name, "-")
		switch {
		case rest != "" && slices.Contains(archiveParts, part):
			names.add(part+".", part+"_", rest)
			c.Parted = c.Parted.With(part+"."+rest, value)
		case slices.Contains(archiveSettings, name):
			own[name] = value
		default:
			return o, nil, settings.Unknown("settings", keyword(name), archiveSettings)
		}
	}
	if err := own.Apply(&c, "the archive", ""); err != nil {
		return o, nil, err
	}
	if err := own.CheckNeeds(&c, ""); err != nil {
		return o, nil, err
	}
	for _, p := range settings.ChosenParts(&c) {
		if err := c.Parted.Under(p.Name+".").CheckNeeds(p.Settings, p.Name+"."); err != nil {
			return o, nil, err
		}
	}
	member, err := in.members()
	if err != nil {
		return o, nil, err
	}
	if len(in.Ranges) == 0 {
		return o, nil, console.BadInput("ranges: got none, want the least and the greatest of each measure")
	}
	space := envs.Box{Dims: []int{len(in.Ranges)}, DType: graph.Float32}
	for _, r := range in.Ranges {
		if !(r[0] < r[1]) {
			return o, nil, console.BadInput("ranges: got %v, want the least and the greatest of each measure", r)
		}
		space.Low, space.High = append(space.Low, r[0]), append(space.High, r[1])
	}
	layout := population.LayoutOf(member)
	q, err := c.Search(space, layout)
	if err != nil {
		return o, nil, err
	}
	ravel := graph.VMap(func(member []*graph.Array) *graph.Array { return layout.Ravel(member) })
	a := algorithm{in: q.Inputs, stats: q.Metrics, begins: firstMembers, start: func(fields []*graph.Array) any {
		return q.Start(random.New(in.Seed), ravel(fields))
	}}
	a.ask = func(state, numbers any) (draws, members any) {
		child := q.Ask(state.(qd.SearchState), numbers.(qd.SearchInputs))
		return child, graph.VMap(layout.Unravel)(child.Genome)
	}
	a.tell = func(state, draws, numbers any, told []*graph.Array) (any, *graph.Array) {
		return q.Tell(state.(qd.SearchState), numbers.(qd.SearchInputs), draws.(qd.Child), told[0], told[1])
	}
	if err := s.checkMemory("popsize", in.Popsize, 1, heldMembers*graph.TreeBytes(member), 0); err != nil {
		return o, nil, err
	}
	x, err := s.search(a, fmt.Sprintf("%s, %s, %d members", c.Archive, c.Emitter, in.Popsize), in.Popsize, member,
		len(in.Ranges))
	o, description, err = x.object(err)
	if err != nil {
		return o, nil, err
	}
	places := &memory{slots: 1}
	o.requests["archive"] = func([]byte) (any, error) { return x.elites(places) }
	o.close = func() {
		places.close()
		x.close()
	}
	return o, description, nil
}

// elites writes the places of the archive into a memory, which it opens the first time, and describes it.
func (x *search) elites(m *memory) (any, error) {
	out, err := x.look(&x.compiled.archive, "archive", func(state any) any {
		p := state.(qd.SearchState).Archive.Places()
		return []*graph.Array{p.Cell, p.Fitness, p.Descriptor, p.Genomes}
	})
	if err != nil {
		return nil, err
	}
	defer xlabridge.Free(out)
	if m.bytes == nil {
		m.fields, m.stride = nil, 0
		for i, name := range []string{"index", "objective", "measures", "solution"} {
			if _, err := m.add(name, out[i].Shape()); err != nil {
				return nil, err
			}
		}
		if err := m.open(); err != nil {
			return nil, err
		}
	}
	return m.describe(), m.write(0, 0, out)
}
