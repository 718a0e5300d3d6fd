package episode

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/safetensors"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
)

// Member is a saved member.
type Member struct {
	*Rollout
	Params   any               // as Policy.Init returns them, on the host
	Metadata map[string]string // all metadata of the file
}

// Keys of a member's metadata.
const (
	keyEnv      = "env"
	keyPolicy   = "policy"
	keySettings = "policy_settings" // JSON
	keySteps    = "steps"
	keyParams   = "env_params" // as on the command line; absent if all are defaults
	// keyNormalized is "true" if the arrays Observation.Mean and Observation.Deviation normalize observations, else
	// absent.
	keyNormalized = "normalized_observations"
	// keyActions is policy.Sampled or policy.Greedy if the member has a distribution over actions, else absent.
	keyActions = "actions"
)

// Describe returns the metadata that Load needs.
func Describe(env, spec string, values settings.Values, steps int) map[string]string {
	text, _ := json.Marshal(values) // plain values: it cannot fail
	return map[string]string{keyEnv: env, keyPolicy: spec, keySettings: string(text), keySteps: strconv.Itoa(steps)}
}

// DescribeParams adds given parameters of the environment to a member's metadata.
func DescribeParams(metadata map[string]string, given []EnvParam) {
	if len(given) > 0 {
		metadata[keyParams] = envTexts(given).String()
	}
}

// DescribeNormalized adds to a member's metadata whether observations are normalized.
func DescribeNormalized(metadata map[string]string, p policy.Policy) {
	if s, ok := p.(*policy.Sampling); ok {
		p = s.Inner
	}
	if _, normalizes := p.(*policy.Normalizing); normalizes {
		metadata[keyNormalized] = "true"
	}
}

// DescribeActions adds to a member's metadata how it acts, if it has a distribution over actions. actions is
// policy.Sampled, policy.Greedy, or "", which means the way of the policy.
func DescribeActions(metadata map[string]string, p policy.Policy, actions string) {
	if s, ok := p.(*policy.Sampling); ok {
		metadata[keyActions] = cmp.Or(actions, s.Actions)
	}
}

// Actions returns how the member acts: policy.Sampled or policy.Greedy.
func (m *Member) Actions() string {
	if s, ok := m.Policy.(*policy.Sampling); ok {
		return s.Actions
	}
	return policy.Greedy
}

// SetActions changes how the member acts. Its error says why it cannot.
func (m *Member) SetActions(actions string) error {
	if actions != policy.Sampled && actions != policy.Greedy {
		return settings.Wrong("actions", actions, "%s or %s", policy.Sampled, policy.Greedy)
	}
	s, ok := m.Policy.(*policy.Sampling)
	switch {
	case ok:
		changed := *s
		changed.Actions = actions
		m.Policy = &changed
	case actions == policy.Sampled:
		return settings.Wrong("actions", actions, "%s for this member, whose file has no distribution over "+
			"actions", policy.Greedy)
	}
	return nil
}

// Load reads a member from a safetensors file of a run or of `xlarun export`. Its environment and policy must be
// registered in this program.
func Load(path string) (*Member, error) {
	file, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if err := file.CheckDigest(); err != nil {
		return nil, err
	}
	arrays := map[string]*graph.Array{}
	for _, name := range file.Names() {
		if arrays[name], err = file.Array(name); err != nil {
			return nil, err
		}
	}
	m, err := Restore(arrays, file.Metadata())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// RolloutOf returns how the member with this metadata is played.
func RolloutOf(metadata map[string]string) (*Rollout, error) {
	for _, key := range []string{keyEnv, keyPolicy, keySteps} {
		if metadata[key] == "" {
			return nil, fmt.Errorf("this is no member that acts in an environment: its metadata has no %q", key)
		}
	}
	env, err := envs.Make(metadata[keyEnv])
	if err != nil {
		return nil, err
	}
	texts, ok := settings.ParsePairs(metadata[keyParams])
	if !ok {
		return nil, fmt.Errorf("its %s are %q, want NAME=VALUE with commas between several", keyParams,
			metadata[keyParams])
	}
	env, given, err := ReadEnvParams(env, texts)
	if err != nil {
		return nil, err
	}
	values := settings.Values{}
	if text := metadata[keySettings]; text != "" {
		if err := json.Unmarshal([]byte(text), &values); err != nil {
			return nil, fmt.Errorf("its %s are no JSON: %w", keySettings, err)
		}
	}
	for name, v := range values {
		if x, ok := v.(float64); ok && x == float64(int64(x)) {
			values[name] = strconv.FormatInt(int64(x), 10)
		}
	}
	p, h, err := policy.Make(metadata[keyPolicy], values, env.Spec().Observation, env.Spec().Action)
	if normalized := metadata[keyNormalized]; err == nil && normalized != "" {
		if normalized != "true" {
			return nil, fmt.Errorf("its %s are %q, want true, or no such key", keyNormalized, normalized)
		}
		p, h, err = policy.MakeNormalizing(metadata[keyPolicy], values, env.Spec().Observation, env.Spec().Action)
	}
	if actions := metadata[keyActions]; err == nil && actions != "" {
		p, err = policy.NewSampling(p, actions, env.Spec().Action)
	}
	if err != nil {
		return nil, err
	}
	steps, err := strconv.Atoi(metadata[keySteps])
	if err != nil || steps < 1 {
		return nil, fmt.Errorf("its steps are %q, want a whole number from 1 on", metadata[keySteps])
	}
	return &Rollout{Env: env, Given: given, Policy: p, Head: h, Steps: steps, Episodes: 1}, nil
}

// Restore returns the member with these arrays, by name, and metadata.
func Restore(arrays map[string]*graph.Array, metadata map[string]string) (*Member, error) {
	r, err := RolloutOf(metadata)
	if err != nil {
		return nil, err
	}
	m := &Member{Rollout: r, Metadata: metadata}
	var leaves []*graph.Array
	var tree *graph.Tree
	if err := graph.Try(func() { leaves, tree = graph.Flatten(r.Policy.Init(random.New(0))) }); err != nil {
		return nil, err
	}
	for i, want := range leaves {
		name := safetensors.Name(tree.Path(i))
		a, ok := arrays[name]
		if !ok || !a.Shape().Equal(want.Shape()) {
			return nil, fmt.Errorf("the file has no array %q of %s, as the policy %s for %s wants", name, want.Shape(),
				metadata[keyPolicy], metadata[keyEnv])
		}
		leaves[i] = a
	}
	m.Params = tree.Unflatten(leaves)
	m.Params, err = graph.Eval(m.Params)
	return m, err
}
