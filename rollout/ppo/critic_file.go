package ppo

import (
	"cmp"
	"strings"

	"xlarun/graph"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// criticFile returns the file of the critic of the newest update: of several agents, that of the agent with the highest
// recent return. It has the names of the policy's parameters. ok is false if values are outputs of the actor.
func (t *Training) criticFile() (f run.File, ok bool, err error) {
	v, err := t.State()
	if err != nil {
		return f, false, err
	}
	state := v.(State)
	if _, none := state.Params.Critic.(graph.None); none {
		return f, false, nil
	}
	critic := state.Params.Critic
	onHost := func(a *graph.Array) *graph.Array {
		host, e := xlabridge.ToHost(a)
		if e != nil {
			err = e
			return a
		}
		return host
	}
	if t.config.Agents > 1 {
		recent := graph.MapTree(onHost, state.Recent)
		critic = graph.MapTree(onHost, critic)
		if err != nil {
			return f, false, err
		}
		if err = graph.Try(func() { critic = population.At(critic, nanToLowest(recent.mean()).ArgMax(0)) }); err == nil {
			critic, err = graph.Eval(critic)
		}
	} else {
		critic = graph.MapTree(onHost, critic)
	}
	head, _, _ := strings.Cut(t.config.Value, ":")
	return run.File{Name: run.CriticFile, Arrays: critic, Metadata: map[string]string{
		"policy": cmp.Or(t.config.Critic, t.config.Policy), "value": head}}, err == nil, err
}
