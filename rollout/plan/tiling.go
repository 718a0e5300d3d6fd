package plan

import (
	"math"

	"xlarun/xlabridge/kernels"
)

const (
	// TileBytes is how much of a tile's parameters stays in a core's second-level cache between steps.
	TileBytes = 1 << 18
	// TileMost is the largest tile. Longer loops over the members gain nothing on a core.
	TileMost = 128
	// TileLeast is the number of members in a vector register.
	TileLeast = 16
	// TileSlack is how much a tile may exceed the wanted size if the population is then cut better.
	TileSlack = 1.25
	// startMost is the time in which a core starts a step, measured in members with a narrow network. For larger
	// networks it is less.
	startMost = 4
	// TilesWanted is the number of tiles that keeps a machine with as many cores busy. For it, the rule accepts a cost
	// of tilesCost on fewer cores; measured was at most 5 % on two cores.
	TilesWanted = 8
	tilesCost   = 1.06
	// listCost is the time for a byte of a list that members share, beside that for a byte of a member: an element of
	// the list is an address and an iteration of a loop. Tiles of 64, 128 and 256 genomes of 34 nodes and 352
	// connections took 34, 32 and 31 ms, so that the list costs as much as 6 members.
	listCost = 4
	// wideTile is the number of members times episodes that keeps an accelerator busy.
	wideTile = 8192
	// sharedMost and sharedStart are the wanted size and the start of a tile whose members share their matrices. A step
	// calls products and kernels, and a product of more rows reads a matrix less often. The members' own factors are
	// read once in a step, so that they need not stay in a cache.
	sharedMost  = 256
	sharedStart = 16
)

// VectorWidth is the width in bits of vectors on CPU, or the widest that the processor has. The compiler's default is
// half the width of AVX-512.
const VectorWidth = 512

// VectorBits returns the width in bits of this processor's vector registers.
func VectorBits() int { return 128 << max(0, len(kernels.VectorSets())-1) }

// Tiling chooses the size of a tile.
type Tiling struct {
	population, group int
	most              int     // wanted members of a tile, at most
	start             float64 // cost of a tile beside its members, in members
	few               bool    // as few tiles as their size allows, also a single one
}

// Reads is what an episode's step reads, in bytes.
type Reads struct {
	Params int // a member's parameters
	Carry  int // a member's carry of the policy, state of the environment and observation
	Shared int // lists that a step reads once for all members of a tile
	Lanes  int // members that a step of the environment computes together; see envs.Spec
}

// Member returns what a step reads for each member.
func (r Reads) Member() int { return max(1, r.Params+r.Carry) }

// TilingOf returns the Tiling for a population sampled in groups.
func TilingOf(population, group int, reads Reads, episodes int, accelerator bool) Tiling {
	bytes := reads.Member()
	most := min(TileMost, max(TileLeast, TileBytes/bytes))
	start := min(startMost, TileBytes/64/float64(bytes)) + listCost*float64(reads.Shared)/float64(bytes)
	if reads.Lanes > 0 {
		// A step of fewer takes longer for a member, whatever the network reads: Walker2d's 1.26 times in tiles of 32,
		// and 2.2 times in tiles of 16.
		most, start = max(most, reads.Lanes), max(start, float64(reads.Lanes)/2)
	}
	if accelerator {
		// A turn of a loop over tiles costs the launches of all its kernels.
		most, start = wideTile, wideTile/4
	}
	t := newTiling(population, group, most, start, episodes)
	t.few = accelerator
	return t
}

// SharedTiling returns the Tiling for members on a CPU that share their matrices.
func SharedTiling(population, group, episodes int) Tiling {
	return newTiling(population, group, sharedMost, sharedStart, episodes)
}

func newTiling(population, group, most int, start float64, episodes int) Tiling {
	return Tiling{population, group, max(most/episodes, min(most, TileLeast)), start / float64(episodes), false}
}

// Tile returns the number of members of a tile. It depends on the experiment and the kind of device alone, not on the
// number of devices, so that results do not either.
//
// Tiles are nearly equal. On accelerators they are as few as fit. On CPUs their number is even, so that two devices end
// at the same time. Among such cuts it is the one with the lowest cost, or one of up to TilesWanted tiles whose cost is
// hardly higher.
func (t Tiling) Tile() int {
	if t.population < 2*TileLeast {
		return t.cut(1)
	}
	fewest := int(math.Ceil(float64(t.population) / (TileSlack * float64(t.most))))
	if t.few && fewest == 1 {
		return t.cut(1)
	}
	if t.few {
		return t.cut(evenUp((t.population + t.most - 1) / t.most))
	}
	fewest = evenUp(fewest)
	best, bestCost := fewest, t.cost(fewest)
	for n := fewest + 2; n <= max(fewest+8, TilesWanted) && t.cut(n) >= TileLeast; n += 2 {
		if c := t.cost(n); c < bestCost || n <= TilesWanted && c <= tilesCost*bestCost {
			best, bestCost = n, min(c, bestCost)
		}
	}
	return t.cut(best)
}

// cost returns the time of one core for n tiles, in members.
func (t Tiling) cost(n int) float64 {
	size := t.cut(n)
	return float64(evenUp((t.population+size-1)/size)) * (float64(size) + t.start)
}

// AtMost returns the size of an even number of equal tiles of about most members.
func (t Tiling) AtMost(most int) int { return t.cut(evenUp((t.population + most - 1) / most)) }

// cut returns the size of n equal tiles: whole groups, and whole vectors if that adds little padding.
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
