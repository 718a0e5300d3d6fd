package envs

import "xlarun/graph"

// Steps is an int32 scalar: a step limit among the parameters, the steps played in a state.
//
//go:noinline
func Steps(n int) *graph.Array { return graph.Scalar(n, graph.Int32) }

// Tick counts a step and reports whether the limit is reached.
func Tick(time, maxSteps *graph.Array) (next, truncated *graph.Array) {
	next = time.Add(1)
	return next, next.Ge(maxSteps)
}

// False is a bool scalar: terminated or truncated of an environment that never ends so.
func False() *graph.Array { return graph.Scalar(false) }

// True is a bool scalar: terminated of a task of one step.
func True() *graph.Array { return graph.Scalar(true) }

// Move is one step of a Game by its rules, before Referee.
type Move struct {
	Over    *graph.Array // bool: whether the game was over before the move
	Legal   *graph.Array // bool[n]: Legal of the state before the move
	Action  *graph.Array // int32 scalar; illegal if outside 0 … n-1
	Player  *graph.Array // int32 scalar: the player who moves
	Rewards *graph.Array // f32[players]: the rewards if the action is legal
	Ends    *graph.Array // bool: whether the action, if legal, ends the game
}

// Referee applies the rules that all Games share: a finished game stays finished and gives no rewards; an illegal
// action ends the game with -1 for the mover. rewards, f32[players], are for Rewards of the next state; reward and
// terminated are for Step.
func Referee(m Move) (rewards, reward, terminated *graph.Array) {
	chosen := graph.Iota(m.Legal.Dim(0)).Eq(m.Action)
	illegal := m.Legal.And(chosen).Any().Not()
	players := m.Rewards.Dim(0)
	mover := graph.Iota(players).Eq(m.Player)
	penalty := graph.Select(mover, -1., 1/float64(players-1))
	rewards = graph.Select(illegal, penalty, m.Rewards)
	rewards = graph.Select(m.Over, graph.ZerosLike(rewards), rewards)
	reward = graph.Select(mover, rewards, graph.ZerosLike(rewards)).Sum()
	return rewards, reward, m.Over.Or(illegal.Or(m.Ends))
}
