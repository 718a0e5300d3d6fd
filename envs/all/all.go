// Package all registers every environment that comes with xlarun: import it for that alone.
package all

import (
	_ "xlarun/envs/classic" // cart poles, pendulums, cars in valleys
	_ "xlarun/envs/grid"    // gathering on a walled grid, for true and proxy rewards
	_ "xlarun/envs/levels"  // foraging, from a reflex to memory
	_ "xlarun/envs/minatar" // five games on a grid
	_ "xlarun/envs/small"   // chains, mazes, bandits, arms
)
