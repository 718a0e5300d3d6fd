package envs

import "xlarun/graph"

// Steps is an int32 scalar: a step limit among the parameters, the steps played in a state.
func Steps(n int) *graph.Array { return graph.Full(graph.ShapeOf(graph.Int32), n) }

// Tick counts a step and tells whether the limit is reached.
func Tick(time, maxSteps *graph.Array) (next, truncated *graph.Array) {
	next = time.Add(1)
	return next, next.Ge(maxSteps)
}

// False is the bool scalar of an end that never comes.
func False() *graph.Array { return graph.Full(graph.ShapeOf(graph.Bool), false) }

// Move is what the rules of a Game say of one step.
type Move struct {
	Over    *graph.Array // bool: whether the game was over before
	Legal   *graph.Array // bool[n]: Legal of the state before
	Action  *graph.Array // int32 scalar; one outside of 0 … n-1 is illegal
	Player  *graph.Array // int32 scalar: who moves
	Rewards *graph.Array // f32[players]: what each gets if the action is legal
	Ends    *graph.Array // bool: whether the action, if it is legal, ends the game
}

// Referee applies to a move what holds for every Game: after its end nobody gets anything and it stays over; an illegal
// action ends it, at -1 for who moved. rewards, f32[players], are what Rewards has to give for the next state, reward
// and terminated are for Step.
func Referee(m Move) (rewards, reward, terminated *graph.Array) {
	chosen := graph.Iota(m.Legal.Dim(0)).Eq(m.Action)
	illegal := m.Legal.And(chosen).Any().Not()
	players := m.Rewards.Dim(0)
	mover := graph.Iota(players).Eq(m.Player)
	lost := graph.Select(mover, -1., 1/float64(players-1))
	rewards = graph.Select(illegal, lost, m.Rewards)
	rewards = graph.Select(m.Over, graph.ZerosLike(rewards), rewards)
	reward = graph.Select(mover, rewards, graph.ZerosLike(rewards)).Sum()
	return rewards, reward, m.Over.Or(illegal.Or(m.Ends))
}
