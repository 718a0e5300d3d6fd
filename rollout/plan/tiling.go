package plan

import "math"

const (
	// tileBytes is the memory of the parameters of one tile that stays in a core's second-level cache while it is read
	// at every step.
	tileBytes = 1 << 18
	// TileMost is the number of members beyond which longer loops over the members gain a core nothing.
	TileMost = 128
	// TileLeast is a vector register's worth of members.
	TileLeast = 16
	// tileSlack is how much larger than that a tile may be where the population is then cut better.
	tileSlack = 1.25
	// startMost is the time that a core takes to start a step, in members of a narrow network; a larger one plays fewer
	// in that time.
	startMost = 4
	// tilesWanted is the number of tiles that keeps a machine of so many cores busy. More of them than are needed may
	// cost a machine of two so much by the rule's count; what was measured then was 5 % at most.
	tilesWanted = 8
	tilesCost   = 1.06
	// wideTile is the number of members (times episodes) that keep an accelerator busy.
	wideTile = 8192
)

// VectorWidth is the width in bits of the vectors on CPU: as wide as the processor allows. By itself the compiler stops
// at half of what AVX-512 has.
const VectorWidth = 512

// Tiling is what the size of a tile depends on.
type Tiling struct {
	population, group int
	most              int     // members that a tile should have at most
	start             float64 // what a tile costs beside its members, in members
}

// TilingOf is the rule's, for a population that samples its members in groups. bytes are what an episode reads of one
// member at each step: its parameters, its policy's carry and its environment's state.
func TilingOf(population, group, bytes, episodes int, accelerator bool) Tiling {
	most := min(TileMost, max(TileLeast, tileBytes/max(1, bytes)))
	start := min(startMost, tileBytes/64/float64(max(1, bytes)))
	if accelerator {
		most, start = wideTile, wideTile/4
	}
	return Tiling{population, group, max(most/episodes, min(most, TileLeast)), start / float64(episodes)}
}

// Tile gives the number of members of a tile. It depends on the experiment and the kind of device alone, never on how
// many there are or how large: results are the same to the byte on any number of them.
//
// Tiles are nearly equal and, so that two devices end at the same time, even in number; of such cuts the one that keeps
// a core busy for the shortest time, or one of up to tilesWanted tiles that costs hardly more.
func (t Tiling) Tile() int {
	if t.population < 2*TileLeast {
		return t.cut(1)
	}
	fewest := evenUp(int(math.Ceil(float64(t.population) / (tileSlack * float64(t.most)))))
	best, bestCost := fewest, t.cost(fewest)
	for n := fewest + 2; n <= max(fewest+8, tilesWanted) && t.cut(n) >= TileLeast; n += 2 {
		if c := t.cost(n); c < bestCost || n <= tilesWanted && c <= tilesCost*bestCost {
			best, bestCost = n, min(c, bestCost)
		}
	}
	return t.cut(best)
}

// cost is the time that a core needs for n tiles, in members.
func (t Tiling) cost(n int) float64 {
	size := t.cut(n)
	return float64(evenUp((t.population+size-1)/size)) * (float64(size) + t.start)
}

// AtMost is a tile of about most members, of an even number of equal ones.
func (t Tiling) AtMost(most int) int { return t.cut(evenUp((t.population + most - 1) / most)) }

// cut is the size of n equal tiles: of whole groups, and of whole vectors where these pad it little.
func (t Tiling) cut(n int) int {
	size := (t.population + n - 1) / n
	for _, unit := range []int{8 * t.group, 8} {
		if whole := roundUp(size, unit); unit%t.group == 0 && whole-size <= size/16 {
			return whole
		}
	}
	return roundUp(size, t.group)
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
func evenUp(n int) int        { return roundUp(n, 2) }
