"""Ask and tell with the program, which XLARUN names or which is installed."""
import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import xlarun
from xlarun import process, program
from xlarun.genomes import Network

try:
    program.program()
except program.Error as e:
    pytest.skip(str(e), allow_module_level=True)

Error, Strategy = program.Error, xlarun.Strategy


def search(name="openes", popsize=8, x0=np.zeros(3), **more):
    return Strategy(name, popsize=popsize, x0=x0, **more)


def test_finds_the_optimum():
    s = search("cmaes", 32, np.full(5, 3.0), sigma=0.5)
    for _ in range(120):
        xs = s.ask()
        assert xs.shape == (32, 5) and xs.dtype == np.float32
        s.tell(xs, -((xs - 1) ** 2).sum(1))
    np.testing.assert_allclose(s.mean, 1, atol=1e-2)
    np.testing.assert_allclose(s.best, 1, atol=1e-2)
    assert s.generation == 120 and -1e-3 < s.best_fitness <= 0


def test_seeds_and_searches_side_by_side():
    """Two strategies of a seed, in one program, are equal to the bit, and one of another seed is not."""
    a, b, other = search(seed=3), search(seed=3), search(seed=2**40 + 3)
    for _ in range(3):
        xs, ys, zs = a.ask(), b.ask(), other.ask()
        np.testing.assert_array_equal(xs, ys)
        assert not np.array_equal(xs, zs)
        for s, x in ((a, xs), (b, ys), (other, zs)):
            s.tell(x, x[:, 0])
    np.testing.assert_array_equal(a.mean, b.mean)
    assert a._object.child is other._object.child


def test_arrays_that_somebody_holds_stay():
    s, held = search(), []
    for _ in range(5):
        xs = s.ask()
        held.append((xs, xs.copy()))
        s.tell(xs, np.arange(8))
    for now, then in held:
        np.testing.assert_array_equal(now, then)
    assert not np.array_equal(held[0][0], held[1][0])
    slots = {h[0].__array_interface__["data"][0] for h in held[:2]}
    held.clear()
    del now, then, xs
    s._asked = None
    assert s.ask().__array_interface__["data"][0] in slots, "memory that nobody holds is used again"


def test_trees():
    x0 = {"w": np.zeros((2, 3)), "b": (np.ones(2, np.float32), 0.5), "none": None}
    s = search("pgpe", 6, x0)
    xs = s.ask()
    assert list(xs) == ["w", "b", "none"] and isinstance(xs["b"], tuple) and xs["none"] is None
    assert xs["w"].shape == (6, 2, 3) and xs["b"][0].shape == (6, 2) and xs["b"][1].shape == (6,)
    s.tell(xs, xs["w"].sum((1, 2)))
    assert s.best["w"].shape == (2, 3)
    np.testing.assert_allclose(s.mean["b"][0], 1, atol=0.1)


def test_fitness_that_is_not_finite():
    s = search("simplega", 4)
    xs = s.ask()
    s.tell(xs, [np.nan, np.inf, -np.inf, 1])
    np.testing.assert_array_equal(s.best, xs[3])
    assert s.best_fitness == 1
    s.tell(s.ask(), np.full(4, np.nan))
    assert s.best_fitness == 1 and np.isfinite(s.mean).all()


def test_one_member():
    s = search("simplega", 1)
    s.tell(s.ask(), [1])
    assert s.best_fitness == 1


def neat(seed=0):
    """One program for all tests of networks: it takes longest to compile."""
    return Strategy("neat", popsize=32, inputs=2, outputs=1, seed=seed, weight_power=1.5,
                    policy_activations="tanh,steep", policy_final_activation="sigmoid")


def test_networks():
    """neat finds a network for XOR that is better than a linear one, -1; with cycles, networks remember."""
    xs = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    s = neat(1)
    for _ in range(25):
        networks = s.ask()
        assert len(networks) == 32 and networks.arrays["Connections.Weight"].shape[0] == 32
        s.tell(networks, [-sum((network(x)[0] - (x[0] != x[1])) ** 2 for x in xs) for network in networks])
    assert s.best_fitness == pytest.approx(-sum((s.best(x)[0] - (x[0] != x[1])) ** 2 for x in xs), abs=1e-5)
    assert s.best_fitness > -0.98 and s.mean(xs[1]).shape == (1,) and s.stats["species"] >= 1
    arrays = {"Nodes.Activation": [0, 0], "Nodes.Aggregation": [0, 0], "Nodes.Bias": [0, 0], "Nodes.Response": [1, 1],
              "Connections.Enabled": [True, True], "Connections.From": [0, 1], "Connections.To": [1, 1],
              "Connections.Weight": [1, 0.5]}
    recurrent = Network(arrays, {"activations": '["identity"]', "aggregations": '["sum"]', "inputs": "1",
                                 "outputs": "1", "recurrent": "true"})
    assert [recurrent([x])[0] for x in (1, 0, 0)] == [1, 0.5, 0.25]
    recurrent.reset()
    assert recurrent([0])[0] == 0


def test_networks_take_their_inputs():
    """A network took any number of inputs, also none, and did not pickle."""
    xs = neat().ask()
    for bad in ([1, 2, 3], [], 1.0, None, np.zeros((2, 3)), np.zeros((3, 2)), np.zeros((1, 2)), np.zeros(4)):
        with pytest.raises(ValueError, match=r"the inputs have the shape \[.*\], want \[2\]"):
            xs[0](bad)
    again = pickle.loads(pickle.dumps(xs[1]))
    np.testing.assert_array_equal(again([1, 2]), xs[1]([1, 2]))
    some = xs[1:3]
    assert len(some) == 2 and len(xs[-1:]) == 1
    np.testing.assert_array_equal(some[1]([1, 2]), xs[2]([1, 2]))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(some))[1]([1, 2]), xs[2]([1, 2]))
    for bad in ([0, 1], "a", 1.0, None):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            xs[bad]


def test_members_are_read_only():
    """tell compared an array that was changed in place with itself: an archive kept members nobody had evaluated."""
    x0 = np.random.RandomState(0).randn(16, 3) * 2
    s = Strategy("map-elites", popsize=16, x0=x0, ranges=[(-1, 1)] * 2, archive="grid:4")
    for _ in range(5):
        xs = s.ask()
        with pytest.raises(ValueError, match="read-only"):
            np.clip(xs, -0.5, 0.5, out=xs)
        s.tell(xs, -(xs ** 2).sum(1), xs[:, :2])
    a = s.archive
    np.testing.assert_allclose(a.objective, -(a.solution ** 2).sum(1), rtol=1e-6)
    s = search("openes", 4, {"a": np.zeros(2), "b": [np.zeros(3)]})
    xs = s.ask()
    for leaf in (xs["a"], xs["b"][0]):
        with pytest.raises(ValueError, match="read-only"):
            leaf += 1
    asked, xs["a"] = xs["a"], xs["a"] + 1
    with pytest.raises(Error, match="got other members"):
        s.tell(xs, np.zeros(4))
    xs["a"] = asked
    s.tell(xs, np.zeros(4))
    networks = neat().ask()
    assert not any(array.flags.writeable for array in networks.arrays.values())
    s = search()
    held = [s.ask() for _ in range(4)]  # the last ones are copies
    assert not any(xs.flags.writeable for xs in held)


@pytest.mark.parametrize("name, archive", [("map-elites", "grid:8,8"), ("cma-me", "cvt:50"),
                                           ("map-elites", "unstructured:40")])
def test_archives(name, archive):
    def measures(xs):
        return xs["w"][:, 0, :2]
    x0 = {"w": np.random.default_rng(0).normal(size=(32, 2, 3)), "b": np.zeros(32)}
    s = Strategy(name, popsize=32, x0=x0, ranges=np.array([(-1, 1), (-2, 2)]), archive=archive, seed=3)
    told = {}
    for g in range(12):
        xs = s.ask()
        fitness = -(xs["w"] ** 2).sum((1, 2)) - xs["b"] ** 2
        if g == 0:
            np.testing.assert_array_equal(xs["b"], 0)
        fitness[0] = np.nan
        s.tell(xs, fitness, measures(xs))
        told.update({x.tobytes(): f for x, f in zip(xs["w"], fitness)})
        assert s.stats["dropped"] == 1
    a = s.archive
    assert len(a.objective) == len(a.index) == len(set(a.index)) == len(a.solution["b"]) > 10
    assert all(told[x.tobytes()] == f for x, f in zip(a.solution["w"], a.objective))
    np.testing.assert_array_equal(a.measures, measures(a.solution).clip((-1, -2), (1, 2)))
    assert a.stats["best_fitness"] == a.objective.max() == s.best_fitness
    assert a.stats["qd_score"] == pytest.approx(a.objective.sum(), rel=1e-5)
    if "coverage" in a.stats:
        assert a.stats["coverage"] == pytest.approx(len(a.index) / (64 if name == "map-elites" else 50))
    old = a.objective.copy()
    xs = s.ask()
    s.tell(xs, np.full(32, 100), measures(xs))
    assert s.archive.objective.max() == 100 and np.array_equal(old, a.objective), "an archive stays as it is"


def test_bad_archives():
    x0 = np.zeros((4, 3))
    for more, want in (({"x0": np.zeros((3, 3))}, "x0: got the shape"), ({"ranges": []}, "ranges: got none"),
                       ({"archive": "grid:2,2,2"}, "archive_sides: got 3"), ({"sides": 3}, "settings: got \"sides\""),
                       ({"name": "openes"}, "ranges: got some"), ({"inputs": 2}, "want inputs and outputs for neat"),
                       ({"name": "openes", "ranges": np.zeros((2, 2))}, "ranges: got some"),
                       ({"ranges": [(0, np.inf)]}, "ranges: got .*inf.*, want two finite numbers"),
                       ({"ranges": np.zeros(3)}, "want two finite numbers for each measure"),
                       ({"ranges": "all"}, "ranges: got 'all', want the least"),
                       ({"policy_anything": 1}, "settings: got \"policy_anything\", want one of archive, emitter"),
                       ({"qd_offset": np.inf}, "no plain values")):
        with pytest.raises(Error, match=want):
            Strategy(**{"name": "map-elites", "popsize": 4, "x0": x0, "ranges": [(0, 1)] * 2, **more})
    for ranges in (5, (0, 1), "ab", [("a", 2)], [(0, 1, 2), (0, 1)], [(0, 1, 2)], [(0, None)], [(0, np.nan)], None):
        with pytest.raises(Error, match="ranges: got .*, want .* measure") as e:
            Strategy("map-elites", popsize=4, x0=x0, ranges=ranges)
        assert e.value.status == 2
    s = Strategy("map-elites", popsize=4, x0=x0, ranges=[(0, 1)])
    for given, want in (((np.zeros(4),), "measures: got none"),
                        ((np.zeros(4), np.zeros(4)), "measures: got the shape")):
        with pytest.raises(Error, match=want):
            s.tell(s.ask(), *given)
    with pytest.raises(Error, match="measures: got some for openes, want none"):
        other = search()
        other.tell(other.ask(), np.zeros(8), np.zeros((8, 1)))
    with pytest.raises(AttributeError, match="openes fills no archive"):
        search().archive


def test_the_best_of_an_archive():
    """Members that were dropped are never the best; in later generations all may be."""
    s = Strategy("map-elites", popsize=4, x0=np.zeros((4, 3)), ranges=[(0, 1)], archive="grid:8")
    for fitness, measures, best, dropped in (([7, 2, np.inf, 1], [np.nan, .5, .5, np.inf], 2, 3),
                                             ([np.nan] * 4, [.5] * 4, 2, 4), ([9] * 4, [np.nan] * 4, 2, 4),
                                             ([1, 3, 9, 3], [.5, .1, np.nan, .9], 3, 1)):
        xs = s.ask()
        s.tell(xs, fitness, np.array(measures)[:, None])
        assert (s.best_fitness, s.stats["best_fitness"], s.stats["dropped"]) == (best, best, dropped)
    np.testing.assert_array_equal(s.best, xs[1])
    s = Strategy("cma-me", popsize=4, x0=np.zeros((4, 3)), ranges=[(0, 1)], archive="grid:8", learning_rate=0.1,
                 threshold_min=5, emitter_searches=1)
    s.tell(s.ask(), [4, 4, 4, 6], np.full((4, 1), .5))
    assert s.best_fitness == 6


def test_archives_that_stay_empty():
    """cma-me with a learning rate asked for the first generation for ever; threshold_min alone did nothing."""
    def first(fitness, measures=0.0, **more):
        s = Strategy("cma-me", popsize=16, x0=np.ones((16, 3)), ranges=[(-1, 1)], archive="grid:8", **more)
        s.tell(s.ask(), np.full(16, fitness), np.full((16, 1), measures))
        return s
    for threshold, more in ((0, {}), (-1, {"threshold_min": -1})):
        with pytest.raises(Error, match="no member of the first generation entered the archive: their mean fitness is "
                           f"-3, .* above threshold_min {threshold}: give one below"):
            first(-3, learning_rate=0.1, **more)
    assert len(first(-3, learning_rate=0.1, threshold_min=-4).archive.index) == 1
    for given in ((np.nan,), (1, np.inf)):
        with pytest.raises(Error, match="all 16 members of the first generation were dropped"):
            first(*given)
    s = first(-3, measures=1.5)
    np.testing.assert_array_equal(s.archive.measures, 1)
    assert s.stats["clipped"] == 16 and first(-3).stats["clipped"] == 0
    for more in ({"threshold_min": -5}, {"threshold_min": -5, "learning_rate": 1}):
        with pytest.raises(Error, match="threshold_min: got -5, want .*learning_rate other than 1 beside it") as e:
            first(-3, **more)
        assert e.value.status == 2
    with pytest.raises(Error, match="emitter_explore: got 2, want .*emitter_ranking bandit beside it"):
        first(-3, emitter_explore=2)


def test_pickles(tmp_path):
    (tmp_path / "config.toml").touch()
    with pytest.raises(TypeError, match="cannot be pickled: pickle its folder"):
        pickle.dumps(xlarun.Run(tmp_path))
    with pytest.raises(TypeError, match="a strategy or an environment lives in the program and cannot be pickled"):
        pickle.dumps(search())


@pytest.mark.parametrize("change, want", [
    ({"name": 5}, "name: got 5, want the name of a strategy"),
    ({"name": ["openes"]}, "name: got .*, want the name of a strategy"),
    ({"sigma": None}, "sigma: got None, want a finite number"),
    ({"sigma": np.nan}, "sigma: got nan, want a finite number"),
    ({"sigma": np.float32(np.inf)}, "sigma: got inf, want a finite number"),
    ({"sigma": [1, None]}, "sigma: got None, want a finite number"),
    ({"sigma": 10**400}, "sigma: got "),
    ({"name": "pgpe", "optimizer": "adam", "max_speed": 1}, "max_speed: got 1, want .*optimizer clipup beside it"),
    ({"name": "opnes"}, 'got "opnes", want one of .*did you mean openes'),
    ({"popsize": 7}, "popsize: got 7, want an even number"),
    ({"popsize": True}, "popsize: got True, want a whole number"),
    ({"popsize": 2**24, "x0": np.zeros(10**6)}, "these take about"),
    ({"name": "iamalgam", "x0": np.zeros(10**6)}, "want fewer or smaller members: the search takes about 21.8 TiB"),
    ({"seed": 1.5}, "seed: got 1.5"),
    ({"sigma": -1}, "sigma: got -1, want a number above 0"),
    ({"learning_rat": 1}, "did you mean learning_rate"),
    ({"sigma": object()}, "no plain values"),
    ({"x0": np.array([1.0, np.nan])}, "x0: got a number that is not finite"),
    ({"x0": {"a": np.zeros(2, np.int32)}}, r"x0\['a'\]: got the dtype int32, want float32"),
    ({"x0": "text"}, "x0: got the dtype"),
    ({"x0": []}, "x0: got 0 numbers"),
])
def test_bad_arguments(change, want):
    with pytest.raises(Error, match=want) as e:
        search(**change)
    assert e.value.status == 2


def test_bad_tells():
    s = search()
    with pytest.raises(Error, match="want ask before"):
        s.tell(np.zeros((8, 3)), np.zeros(8))
    xs = s.ask()
    for fitness in (np.zeros(7), np.zeros((8, 1)), "x", 1):
        with pytest.raises(Error, match="fitness: got"):
            s.tell(xs, fitness)
    with pytest.raises(Error, match="got other members"):
        s.tell(xs + 1, np.zeros(8))
    s.tell(xs.copy(), np.zeros(8))
    with pytest.raises(Error, match="want ask before"):
        s.tell(xs, np.zeros(8))


def run(code):
    """Runs Python code, and returns what it printed."""
    text = "import os, signal, time\nimport numpy as np, xlarun\nfrom xlarun import process\n" \
        "s = xlarun.Strategy('openes', popsize=4, x0=np.zeros(2))\n" + code
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})


def gone(pid):
    for _ in range(100):
        try:
            if open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("end", ["pass", "os.kill(os.getpid(), signal.SIGKILL)", "os._exit(0)",
                                 "os.fork() or time.sleep(1); os.kill(os.getpid(), signal.SIGKILL)"])
def test_the_program_ends_with_python(end):
    done = run("print(process.child().process.pid, flush=True)\n" + end)
    assert gone(int(done.stdout.split()[0])), done


def test_interrupts():
    """Ctrl-C, which a terminal sends to the group of processes, stops Python's call and not the program."""
    done = run("""
s.ask()
import threading
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        s.tell(s.ask(), np.zeros(4))
except KeyboardInterrupt:
    pass
xs = s.ask()
s.tell(xs, np.zeros(4))
print("goes on", xs.shape, os.getsid(process.child().process.pid) != os.getsid(0))
""")
    assert done.stdout == "goes on (4, 2) True\n", done.stderr


def test_forks():
    done = run("""
if os.fork() == 0:
    try:
        s.ask()
    except xlarun.Error as e:
        print("fork:", e, flush=True)
    print(xlarun.Strategy("openes", popsize=4, x0=np.zeros(2)).ask().shape, flush=True)
    os._exit(0)
os.wait()
print(s.ask().shape)
""")
    assert "make it anew after a fork" in done.stdout and done.stdout.count("(4, 2)") == 2, done.stderr


def test_a_program_that_dies():
    s = search()
    s.ask()
    s._object.child.process.kill()
    for _ in range(2):
        with pytest.raises(Error, match="the program ended with status -9"):
            s.ask()
    assert search().ask().shape == (8, 3), "another one is started"


def test_objects_are_freed():
    first = search()
    number = first._object.number
    del first
    second = search()
    with pytest.raises(Error, match="is closed"):
        process.child().call(number, "ask", 0)
    file = f"/proc/{process.child().process.pid}/fd/{second._object.description['file']}"
    assert os.path.exists(file)
    second.close()
    assert not os.path.exists(file), "at once, not with the next request"
    with pytest.raises(Error, match="ask: got a request of an object that is closed, want a new one"):
        second.ask()


def test_threads_free_objects():
    """Two threads found the same object to free, and one failed."""
    class Unwanted(list):
        def __bool__(self):  # as the other thread found it
            return True
    child = process.Child.__new__(process.Child)
    child.unwanted, child.request = Unwanted([3]), lambda line: b"null"
    assert child.call(1, "ask") is None and not len(child.unwanted)


def test_a_program_that_is_none(monkeypatch):
    monkeypatch.setattr(process, "_child", None)
    for path, want in (("/nowhere", "which is no program"), ("/bin/false", "ended with status 1")):
        monkeypatch.setenv("XLARUN", path)
        with pytest.raises(Error, match=want):
            search()
