package search_test

import (
	"context"
	"fmt"
	"log"

	"xlarun/envs/board"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/search"
	"xlarun/xlabridge"
)

// A search without any knowledge of Tic-tac-toe, in three positions side by side: it wins where it can, and blocks
// where it must.
func Example() {
	game := board.TicTacToe()
	network := func(_ graph.None, observation *graph.Array) (logits, value *graph.Array) {
		return graph.Zeros(graph.ShapeOf(graph.Float32, 9)), graph.Scalar(0)
	}
	model := search.NewModel(game, network, 1)
	best := func(key random.Key, moves *graph.Array) *graph.Array { // one game
		state, _ := game.Reset(key, board.Params{})
		state, _ = graph.Scan(
			func(s board.State[board.Lines], move *graph.Array) (board.State[board.Lines], graph.None) {
				next, _, _, _, _ := game.Step(key, s, move, board.Params{})
				return next, graph.None{}
			}, state, moves)
		root := model.Root(graph.None{}, state)
		root.Temperature = graph.Scalar(0) // the most visited move, not one drawn by visits
		return search.Run(search.DefaultPUCT(400), graph.None{}, key, root, model.Step).Action
	}
	client, err := xlabridge.Open(context.Background(), xlabridge.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	run := xlabridge.Jit2(client, graph.VMap2(best))
	moves, err := run(random.Split(random.New(0), 3), graph.Int32s([]int32{
		0, 3, 1, 4, // X X . / O O . / . . .
		4, 0, 8, 2, // O . O / . X . / . . X
		0, 4, 8, 1, // X O . / . O . / . . X
	}, 3, 4))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(moves)
	// Output: i32[3] {2 1 7}
}
