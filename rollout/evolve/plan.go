package evolve

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout"
	"xlarun/rollout/policy"
)

const (
	// tileBytes is the memory of the parameters of one tile that stays in a core's second-level cache while it is read
	// at every step.
	tileBytes = 1 << 20
	// tileMost is the number of members beyond which longer loops over the members gain a core nothing.
	tileMost = 128
	// tileLeast is a vector register's worth of members.
	tileLeast = 16
	// tileSlack is how much larger than that a tile may be where the population is then cut better.
	tileSlack = 1.25
	// startMost is the time that a core takes to start the operations of a step, in members of a narrow network; a larger
	// one plays fewer in that time.
	startMost = 32
	// tilesWanted is the number of tiles that keeps a machine of so many cores busy. More of them than are needed may
	// cost a machine of two so much by the rule's count; what was measured then was 5 % at most.
	tilesWanted = 8
	tilesCost   = 1.06
	// wideTile is the number of members (times episodes) that keep an accelerator busy.
	wideTile = 8192
)

// machine is what a plan has to know of the devices.
type machine struct {
	devices     int   // 0: not known yet
	cores       int   // that tiles could play on at the same time, however many devices there are; 0: 1
	free        int64 // bytes that are free on all of them together; 0: not known
	accelerator bool  // devices that want many members at a time, and not cores
	cpu         bool  // devices are cores
}

// vectorWidth is the width in bits of the vectors on CPU: as wide as the processor allows. By itself the compiler stops
// at half of what AVX-512 has.
const vectorWidth = 512

// Sources of a plan.
const (
	PlanStatic = "static" // by rule
	PlanGiven  = "given"  // in the config
	PlanTuned  = "tuned"  // measured in this process
	PlanStored = "stored" // measured earlier, and read
)

// tiling is what the size of a tile depends on.
type tiling struct {
	population, group int
	most              int     // members that a tile should have at most
	start             float64 // what a tile costs beside its members, in members
}

// tilingOf is the rule's. params are what an episode reads of one member at each step.
func tilingOf(population, group, params, episodes int, accelerator bool) tiling {
	most := min(tileMost, max(tileLeast, tileBytes/(4*params)))
	start := min(startMost, tileBytes/16/(4*float64(params)))
	if accelerator {
		most, start = wideTile, wideTile/4
	}
	return tiling{population, group, max(most/episodes, min(most, tileLeast)), start / float64(episodes)}
}

// tile gives the number of members of a tile. It depends on the experiment and the kind of device alone, never on how
// many there are or how large: results are the same to the byte on any number of them.
//
// Tiles are nearly equal and, so that two devices end at the same time, even in number; of such cuts the one that keeps a
// core busy for the shortest time, or one of up to tilesWanted tiles that costs hardly more.
func (t tiling) tile() int {
	if t.population < 2*tileLeast {
		return t.cut(1)
	}
	fewest := evenUp(int(math.Ceil(float64(t.population) / (tileSlack * float64(t.most)))))
	best, bestCost := fewest, t.cost(fewest)
	for n := fewest + 2; n <= max(fewest+8, tilesWanted) && t.cut(n) >= tileLeast; n += 2 {
		if c := t.cost(n); c < bestCost || n <= tilesWanted && c <= tilesCost*bestCost {
			best, bestCost = n, min(c, bestCost)
		}
	}
	return t.cut(best)
}

// cost is the time that a core needs for n tiles, in members.
func (t tiling) cost(n int) float64 {
	size := t.cut(n)
	return float64(evenUp((t.population+size-1)/size)) * (float64(size) + t.start)
}

// atMost is a tile of about most members, of an even number of equal ones.
func (t tiling) atMost(most int) int { return t.cut(evenUp((t.population + most - 1) / most)) }

// cut is the size of n equal tiles: of whole groups, and of whole vectors where these pad it little.
func (t tiling) cut(n int) int {
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

// staticPlan is the plan by rule, or the one that the config gives. A config that gives one of Tile, LanesLast and Unroll
// leaves the others to the rule.
func (p *plan) staticPlan() (rollout.Plan, string) {
	c := p.config
	layout := rollout.Plan{Devices: c.Devices, Tile: c.Tile, LanesLast: c.LanesLast, Unroll: max(1, c.Unroll)}
	if p.on.cpu {
		layout.VectorWidth = vectorWidth
	}
	source := PlanGiven
	if !c.givesPlan() {
		source = PlanStatic
	}
	if c.Tile == 0 {
		layout.Tile = p.tiling().tile()
	}
	return layout, source
}

func (p *plan) tiling() tiling {
	return tilingOf(p.config.Population, p.strategy.GroupSize(), p.prepared(), p.config.Episodes, p.on.accelerator)
}

// prepared is the number of parameters that an episode reads of one member, as its policy lays them out.
func (p *plan) prepared() int {
	n := p.policy.NumParams()
	if prepare, ok := p.policy.(policy.Preparer); ok {
		_ = graph.Try(func() { // what fails here fails when it is traced, with the user's line
			sum := 0
			for _, leaf := range graph.Leaves(prepare.Prepare(p.policy.Init(random.New(0)))) {
				sum += leaf.Size()
			}
			n = sum
		})
	}
	return n
}

// givesPlan tells whether the config says how to lay the population out.
func (c Config) givesPlan() bool { return c.Tile != 0 || c.LanesLast || c.Unroll != 0 }

// lay cuts the population by a layout.
func (p *plan) lay(layout rollout.Plan, source string) {
	size := p.strategy.GroupSize()
	p.layout, p.source = layout, source
	p.groups = rollout.CutTiles(p.config.Population/size, layout.Tile/size, layout.Devices)
}
