"""Islands that exchange members, on CartPole: DEAP (a genetic algorithm for each island, each evaluated as one batch in a process of its own, migRing) and pygmo (an
archipelago of particle swarms on a ring, in processes, each swarm evaluated as one batch). What is to be done comes as one argument of JSON, one line of JSON is
what it came to. keys: who deap | pygmo; islands, population, generations, every, migrants, steps, workers"""
import json, multiprocessing, sys, time
import numpy as np

HIDDEN = 16
SHAPES = [(4, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 2)]
SIZE = sum(a * b for a, b in SHAPES) + HIDDEN + HIDDEN + 2


def returns(x, steps, seed):
    """mean returns of networks, a row each, on CartPole"""
    x = np.asarray(x, np.float32)
    weights, i = [], 0
    for a, b in SHAPES:
        weights.append((x[:, i:i + a * b].reshape(len(x), a, b), x[:, i + a * b:i + a * b + b]))
        i += a * b + b
    s = np.random.default_rng(seed).uniform(-0.05, 0.05, (len(x), 4)).astype(np.float32)
    total, alive = np.zeros(len(x), np.float32), np.ones(len(x), np.float32)
    for _ in range(steps):
        h = s
        for k, (w, b) in enumerate(weights):
            h = (h[:, None] @ w)[:, 0] + b
            h = np.tanh(h) if k < 2 else h
        force = np.where(h[:, 1] > h[:, 0], 10.0, -10.0).astype(np.float32)
        c, sn = np.cos(s[:, 2]), np.sin(s[:, 2])
        t = (force + 0.05 * s[:, 3] ** 2 * sn) / 1.1
        turn = (9.8 * sn - c * t) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        push = t - 0.05 * turn * c / 1.1
        s = s + 0.02 * np.stack([s[:, 1], push, s[:, 3], turn], 1)
        total += alive
        alive *= (np.abs(s[:, 0]) < 2.4) & (np.abs(s[:, 2]) < 0.2095)
    return total


class CartPole:
    """pygmo's problem: what is minimised is the return's negative"""
    def __init__(self, steps): self.steps = steps
    def get_bounds(self): return [-2.0] * SIZE, [2.0] * SIZE
    def fitness(self, x): return [-float(returns(np.asarray(x)[None], self.steps, 0)[0])]
    def batch_fitness(self, xs): return -returns(np.asarray(xs).reshape(-1, SIZE), self.steps, 0).astype(float)


def evaluate(job): return returns(*job)


def deap(c):
    from deap import base, creator, tools
    creator.create("Fitness", base.Fitness, weights=(1.0,))
    creator.create("Member", list, fitness=creator.Fitness)
    rng = np.random.default_rng(0)
    box = base.Toolbox()
    box.register("select", tools.selTournament, tournsize=3)
    box.register("mate", tools.cxBlend, alpha=0.2)
    box.register("mutate", tools.mutGaussian, mu=0, sigma=0.1, indpb=0.2)
    islands = [[creator.Member(rng.normal(0, 0.5, SIZE).tolist()) for _ in range(c["population"])] for _ in range(c["islands"])]
    begun = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(c["workers"]) as pool:
        pool.map(abs, range(2 * c["workers"]))
        start, begun = time.perf_counter() - begun, time.perf_counter()
        for g in range(c["generations"]):
            if g > 0:
                for i, members in enumerate(islands):
                    young = [box.clone(m) for m in box.select(members, len(members))]
                    for a, b in zip(young[::2], young[1::2]):
                        if rng.random() < 0.5: box.mate(a, b)
                    for m in young: box.mutate(m)
                    islands[i] = young
            for members, values in zip(islands, pool.map(evaluate, [(m, c["steps"], g) for m in islands], chunksize=1)):
                for m, v in zip(members, values): m.fitness.values = (float(v),)
            if c["every"] and (g + 1) % c["every"] == 0:
                tools.migRing(islands, c["migrants"], tools.selBest)
        seconds = time.perf_counter() - begun
    return seconds, start, max(float(np.mean([m.fitness.values[0] for m in i])) for i in islands)


def pygmo(c):
    import pygmo as pg
    begun = time.perf_counter()
    pg.mp_island.init_pool(c["workers"])
    swarm = pg.pso_gen(gen=c["every"] or c["generations"], seed=1)
    swarm.set_bfe(pg.bfe(pg.member_bfe()))
    problem = pg.problem(CartPole(c["steps"]))
    start, begun = time.perf_counter() - begun, time.perf_counter()
    a = pg.archipelago(t=pg.topology(pg.ring()))
    for i in range(c["islands"]):
        p = pg.population(problem, b=pg.bfe(pg.member_bfe()), size=c["population"], seed=i)
        a.push_back(pg.island(algo=pg.algorithm(swarm), pop=p, udi=pg.mp_island(), r_pol=pg.fair_replace(c["migrants"]), s_pol=pg.select_best(c["migrants"])))
    a.evolve(max(1, c["generations"] // (c["every"] or c["generations"])))
    a.wait_check()
    seconds = time.perf_counter() - begun
    best = max(-float(np.mean(i.get_population().get_f())) for i in a)
    pg.mp_island.shutdown_pool()
    return seconds, start, best


if __name__ == "__main__":
    c = json.loads(sys.argv[1])
    seconds, start, best = {"deap": deap, "pygmo": pygmo}[c["who"]](c)
    print(json.dumps({"seconds": seconds, "start": start, "best": best}), flush=True)
