package console

import (
	"slices"
	"strings"

	"xlarun/envs"
)

// foreign maps names of flags and settings in other libraries to the names here that may mean the same. The first of
// them that a command has is suggested. The libraries are evosax, gymnax, PureJaxRL, CleanRL, Stable-Baselines3,
// Optuna and TensorBoard.
var foreign = map[string][]string{
	"population":           {"pop", "agents"},
	"population-size":      {"pop", "agents"},
	"pop-size":             {"pop", "agents"},
	"popsize":              {"pop", "agents"},
	"num-generations":      {"generations"},
	"n-generations":        {"generations"},
	"generations":          {"rounds"},
	"iterations":           {"num-iterations", "rounds"},
	"num-updates":          {"rounds"},
	"updates":              {"rounds"},
	"max-time":             {"for"},
	"time-limit":           {"for"},
	"timeout":              {"for", "trial-timeout"},
	"sigma-init":           {"strategy.sigma"},
	"init-stdev":           {"strategy.sigma"},
	"std-init":             {"strategy.sigma"},
	"fitness-shaping-fn":   {"strategy.shaping"},
	"std":                  {"strategy.sigma"},
	"stdev":                {"strategy.sigma"},
	"log-std-init":         {"deviation"},
	"sigma":                {"strategy.sigma"},
	"noise-std":            {"strategy.sigma"},
	"lr":                   {"learning-rate", "strategy.learning-rate"},
	"lrate":                {"learning-rate", "strategy.learning-rate"},
	"lrate-init":           {"strategy.learning-rate"},
	"learning-rate":        {"lr", "strategy.learning-rate"},
	"num-envs":             {"envs", "pop", "batch"},
	"n-envs":               {"envs", "pop", "batch"},
	"num-steps":            {"horizon", "steps"},
	"n-steps":              {"horizon", "steps"},
	"rollout-length":       {"horizon"},
	"unroll-length":        {"horizon"},
	"total-timesteps":      {"total-steps"},
	"timesteps":            {"total-steps"},
	"max-steps":            {"steps"},
	"max-episode-steps":    {"steps"},
	"num-env-steps":        {"steps"},
	"episode-length":       {"steps"},
	"num-minibatches":      {"minibatches"},
	"n-minibatches":        {"minibatches"},
	"update-epochs":        {"epochs"},
	"num-epochs":           {"epochs"},
	"n-epochs":             {"epochs"},
	"ent-coef":             {"entropy-coef"},
	"vf-coef":              {"value-coef"},
	"gae-lambda":           {"lambda"},
	"clip-eps":             {"clip"},
	"clip-coef":            {"clip"},
	"clip-range":           {"clip"},
	"clip-vloss":           {"clip-values"},
	"anneal-lr":            {"anneal"},
	"discount":             {"gamma"},
	"num-seeds":            {"agents"},
	"network":              {"policy"},
	"net-arch":             {"policy", "network"},
	"env-name":             {"env"},
	"env-id":               {"env"},
	"environment":          {"env"},
	"simulations":          {"num-simulations"},
	"num-sims":             {"num-simulations"},
	"games":                {"num-episodes"},
	"batch-size":           {"training-batch-size", "batch", "minibatches"},
	"gpu":                  {"backend"},
	"cuda":                 {"backend"},
	"device":               {"backend"},
	"platform":             {"backend"},
	"num-devices":          {"devices"},
	"workers":              {"devices"},
	"logdir":               {"out"},
	"log-dir":              {"out"},
	"output":               {"out"},
	"output-dir":           {"out"},
	"checkpoint-dir":       {"out"},
	"continue":             {"resume"},
	"checkpoint-frequency": {"checkpoint-every"},
	"save-freq":            {"checkpoint-every"},
	"n-trials":             {"trials"},
	"num-trials":           {"trials"},
	"n-jobs":               {"workers", "devices"},
	"judge":                {"eval-episodes"}, // names of earlier versions, from here on
	"exam-target":          {"validation-target"},
	"exam-episodes":        {"validation-episodes"},
	"exam-steps":           {"validation-steps"},
	"exam-param":           {"validation-param"},
	"drawn-moves":          {"sampled-moves"},
	"lanes-last":           {"batch-last"},
	"entropy":              {"entropy-coef"},
	"value-weight":         {"value-coef"},
}

// scales say how the value of a foreign flag becomes that of the suggested one, where it is another number.
var scales = map[string]string{"log-std-init": " It is exp(log_std_init)"}

// training maps names of the length of a training. Commands with a horizon have --steps for it, on which the learning
// rate depends. In others --steps is the limit of an episode.
var training = map[string]bool{"total-timesteps": true, "timesteps": true}

// LikeFlag returns the known name to suggest for an unknown one. If another library uses the unknown name, in small or
// capital letters, that is the name here for the same thing. Otherwise it is the known name with the nearest spelling;
// "" if none is near.
func LikeFlag(name string, known []string) string {
	theirs := strings.ToLower(string(NormalizeFlag(nil, name)))
	if training[theirs] && slices.Contains(known, "horizon") {
		return "steps"
	}
	for _, flag := range foreign[theirs] {
		if slices.Contains(known, flag) {
			return flag
		}
	}
	return envs.Nearest(name, known)
}

// DidYouMeanAny returns ", did you mean A, B or C?" with up to three known names to suggest for an unknown one, the
// best first; "" if none is near.
func DidYouMeanAny(name string, known []string) string {
	var likes []string
	for like := LikeFlag(name, known); like != "" && len(likes) < 3; like = LikeFlag(name, known) {
		likes = append(likes, like)
		known = slices.DeleteFunc(slices.Clone(known), func(k string) bool { return k == like })
	}
	if len(likes) == 0 {
		return ""
	}
	last := len(likes) - 1
	text := strings.Join(likes[:last], ", ")
	if last > 0 {
		text += " or "
	}
	return ", did you mean " + text + likes[last] + "?"
}
