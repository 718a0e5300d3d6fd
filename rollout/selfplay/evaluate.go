package selfplay

import (
	"context"
	"fmt"
	"math"
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// evaluates reports whether the newest iteration is evaluated.
func (t *Training) evaluates() bool {
	every := int64(t.config.ArenaEvery)
	return every > 0 && t.program.game.players == 2 && t.step%every == 0
}

// playMatch plays a match and returns a's points in each game: 1, 0 or 1/2 for a draw.
func (t *Training) playMatch(a, b player, key random.Key) ([]float64, error) {
	tiles := graph.Of(int32((sides + t.devices - 1) / t.devices))
	out, err := t.arena.Call(matchInputs{a, b, key, tiles})
	if err != nil {
		return nil, err
	}
	points, err := graph.Floats(out)
	xlabridge.Free(out)
	for i, x := range points {
		points[i] = (1 + max(-1, min(1, x))) / 2
	}
	return points, err
}

// Numbers of the pairs of players. Each pair has a key of its own, so its score does not depend on the other matches.
const (
	learnerRandom = iota
	learnerSearch
	learnerUntrained
	learnerOlder
	searchRandom
	untrainedRandom
	untrainedSearch
)

// eloErrorMetric is the metric of eloError.
const eloErrorMetric = "elo_std_error"

// evaluate plays the newest network against other players, and rates it.
func (t *Training) evaluate(key random.Key) (values []run.Value, err error) {
	weights, err := floats(t.state.Learner.Weights)
	if err != nil {
		return nil, err
	}
	untrained := networkPlayer(graph.Float32s(t.pool.checkpoints[0].weights))
	searcher, randomPlayer := untrained, untrained
	searcher.Scale, randomPlayer.Random = graph.Scalar(0), graph.Of(true)
	learner := networkPlayer(graph.Float32s(weights))
	key = random.FoldIn(key, graph.Of(int32(t.step)))
	// match returns a's score against b and b's rating.
	match := func(pair int, a, b player, rating float64) result {
		var points []float64
		if err == nil {
			points, err = t.playMatch(a, b, random.FoldIn(key, graph.Of(int32(pair))))
		}
		return newResult(rating, points)
	}
	if math.IsNaN(t.pool.search) {
		t.pool.search = elo([]result{match(searchRandom, searcher, randomPlayer, 0)})
	}
	if first := &t.pool.checkpoints[0]; math.IsNaN(first.rating) {
		first.rating = elo([]result{match(untrainedRandom, untrained, randomPlayer, 0),
			match(untrainedSearch, untrained, searcher, t.pool.search)})
	}
	names := []string{"score_random", "score_search", "score_untrained"}
	results := []result{match(learnerRandom, learner, randomPlayer, 0),
		match(learnerSearch, learner, searcher, t.pool.search),
		match(learnerUntrained, learner, untrained, t.pool.checkpoints[0].rating)}
	if n := int64(len(t.pool.checkpoints) - 1); n > 0 { // one of the other checkpoints, in turn
		c := t.pool.checkpoints[1+t.step/int64(max(1, t.config.ArenaEvery))%n]
		names = append(names, "score_older")
		results = append(results, match(learnerOlder, learner, networkPlayer(graph.Float32s(c.weights)), c.rating))
	}
	if err != nil {
		return nil, err
	}
	rating := elo(results)
	limit := t.config.Pool
	if !t.evaluates() {
		limit++ // at the end of the run: the next iteration drops the learner, and what was there before stays
	}
	t.pool = t.pool.with(checkpoint{weights, int(t.step), rating}, limit)
	values = append(values, run.Value{Name: "elo", Number: rating},
		run.Value{Name: eloErrorMetric, Number: eloError(rating, results)})
	for i, r := range results {
		values = append(values, run.Value{Name: names[i], Number: r.score / float64(r.games)})
	}
	// The search without a network is the same opponent in all runs of a game.
	values = append(values, run.EvalValues(run.EvaluationOf(results[1].points))...)
	if t.perfect == nil {
		return values, nil
	}
	positions := t.perfect.won(t.config.ArenaGames, 1)
	won, err := t.winsKept(positions)
	if err != nil {
		return nil, err
	}
	return append(values, run.Value{Name: "wins_kept", Number: share(won, len(positions))}), nil
}

// Closing evaluates the last iteration, if it was not, and plays a position of each class of a solved game.
func (t *Training) Closing(context.Context) (values []run.Value, err error) {
	if t.arena == nil {
		return nil, nil
	}
	if !t.evaluates() {
		if values, err = t.evaluate(t.keys[3]); err != nil {
			return nil, err
		}
	}
	if t.perfect == nil {
		return values, nil
	}
	positions, err := t.perfect.classes()
	if err != nil {
		return nil, err
	}
	won, err := t.winsKept(positions)
	if err != nil {
		return nil, err
	}
	t.proof = fmt.Sprintf("the network wins %d of %d won positions, one of each class that play can reach, against "+
		"the perfect player", won, len(positions))
	return append(values, run.Value{Name: "won_classes_kept", Number: share(won, len(positions))}), nil
}

func share(part, whole int) float64 { return float64(part) / float64(max(1, whole)) }

// winsKept returns how many of the positions the newest network wins against the perfect player.
func (t *Training) winsKept(positions []colors) (won int, err error) {
	n := t.config.ArenaGames
	for chunk := range slices.Chunk(positions, n) {
		kept, err := t.perfect.gamesWon(chunk, func(now []colors) ([]int, error) {
			return t.watch.moves(networkPlayer(t.state.Learner.Weights), now, n)
		})
		if err != nil {
			return won, err
		}
		won += kept
	}
	return won, nil
}
