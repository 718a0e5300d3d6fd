// Package all registers every environment of xlarun. Import it for this effect.
package all

import (
	_ "xlarun/envs/board"   // games of two players
	_ "xlarun/envs/classic" // cart poles, pendulums, cars in valleys
	_ "xlarun/envs/grid"    // gathering on a walled grid, for true and proxy rewards
	_ "xlarun/envs/levels"  // foraging, from a reflex to memory
	_ "xlarun/envs/minatar" // five games on a grid
	_ "xlarun/envs/mnist"   // a bandit over pictures of digits
	_ "xlarun/envs/mujoco"  // bodies that run, hop, swim, reach and balance, as in MuJoCo
	_ "xlarun/envs/process" // environments that other programs simulate
	_ "xlarun/envs/program" // environments that JAX exported
	_ "xlarun/envs/small"   // chains, mazes, bandits, arms
)
