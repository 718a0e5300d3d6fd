"""Ask and tell: xlarun's strategies and archives for an objective in Python."""
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

from .genomes import Genomes, Network
from .process import Object, plain
from .program import Error


def flatten(tree, path=""):
    """The leaves of a tree of dicts, lists and tuples, with their paths. Dicts go by sorted keys, as in JAX."""
    if isinstance(tree, dict):
        try:
            names = sorted(tree)
        except TypeError:
            raise Error(f"x0{path} has keys that cannot be sorted: {list(tree)}", 2) from None
        return [leaf for name in names for leaf in flatten(tree[name], f"{path}[{name!r}]")]
    if isinstance(tree, (list, tuple)):
        return [leaf for i, item in enumerate(tree) for leaf in flatten(item, f"{path}[{i}]")]
    return [] if tree is None else [(path, tree)]


def unflatten(like, leaves):
    """A tree like another one, of the next leaves of an iterator."""
    if isinstance(like, dict):
        parts = {name: unflatten(like[name], leaves) for name in sorted(like)}
        return {name: parts[name] for name in like}
    if isinstance(like, (list, tuple)):
        items = [unflatten(item, leaves) for item in like]
        return type(like)(*items) if hasattr(like, "_fields") else type(like)(items)
    return None if like is None else next(leaves)


# Searches that fill an archive: settings of `xlarun qd`.
searches = {"map-elites": {}, "cma-me": {"emitter": "searches", "strategy": "cmaes"}}


class Archive(NamedTuple):
    """The elites of an archive, a row each by rising index of their cell, and its numbers after the last tell."""
    solution: Any  # a tree like x0
    objective: np.ndarray
    measures: np.ndarray  # clipped to their ranges
    index: np.ndarray
    stats: dict  # coverage, qd_score, …


class Strategy:
    """A search for members of high fitness: a strategy of `xlarun help strategies`, or one that fills an archive.

    x0 is where a strategy starts: one member, an array or a tree of dicts, lists and tuples of arrays. Members are
    float32. hyperparameters are the strategy's settings, such as learning_rate=0.05: `xlarun help strategies NAME`
    lists them.

    neat begins with networks of some inputs and outputs instead of x0. Its hyperparameters may be settings of the
    policy genome, such as policy_recurrent=True.

    map-elites and cma-me fill an archive. x0 is their first generation, popsize members, and ranges has the least and
    the greatest of each measure. Their hyperparameters are flags of `xlarun qd`: archive="cvt:1000", learning_rate=0.1,
    emitter_iso_sigma=0.05, ….

    best and best_fitness are the best member so far, None before the first tell. stats are the numbers of the last
    generation, named as the metrics of runs.
    """

    def __init__(self, name: str, *, popsize: int, x0: Any = None, seed: int = 0, inputs: int = 0, outputs: int = 0,
                 ranges: ArrayLike = (), **hyperparameters: Any):
        if not isinstance(name, str):
            raise Error(f"name: got {name!r}, want the name of a strategy: xlarun help strategies lists them", 2)
        hyperparameters = {key: plain(key, value) for key, value in hyperparameters.items()}
        leaves, archive = [], name in searches
        for path, leaf in flatten(x0):
            array = np.asarray(leaf)
            if array.dtype == np.float64 or array.dtype == np.int64 and not hasattr(leaf, "dtype"):
                array = array.astype(np.float32)
            if archive and array.shape[:1] != (popsize,):
                raise Error(f"x0{path}: got the shape {array.shape}, want {popsize} members along its first axis: the "
                            "first generation", 2)
            leaves.append((path, array))
        for key, value in (("popsize", popsize), ("seed", seed), ("inputs", inputs), ("outputs", outputs)):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not -2**63 <= value < 2**63:
                raise Error(f"{key}: got {value!r}, want a whole number of 64 bits", 2)
        if name == "neat" and leaves or name != "neat" and (inputs or outputs):
            raise Error(f"{name}: got x0, inputs or outputs, want inputs and outputs for neat, and x0 for others", 2)
        try:
            ranges = np.asarray(ranges, float)
        except (TypeError, ValueError):
            raise Error(f"ranges: got {ranges!r}, want the least and the greatest of each measure", 2) from None
        if ranges.size and (ranges.shape[1:] != (2,) or not np.isfinite(ranges).all()):
            raise Error(f"ranges: got {ranges.tolist()}, want two finite numbers for each measure, its least and its "
                        "greatest", 2)
        if ranges.size and not archive:
            raise Error(f"ranges: got some for {name}, want none: only {' and '.join(searches)} have measures", 2)
        self.name, self.popsize, self.generation, self._like = name, int(popsize), 0, x0
        self.best: Any = None
        self.best_fitness: float | None = None
        self._asked = None
        self.stats: dict[str, float] = {}
        self._object = o = Object("archive" if archive else "strategy", name=name, popsize=int(popsize), seed=int(seed),
                                  settings={**searches.get(name, {}), **hyperparameters}, inputs=int(inputs),
                                  outputs=int(outputs), ranges=ranges.tolist(),
                                  leaves=[{"path": path, "dtype": str(a.dtype), "shape": a.shape[archive:]}
                                          for path, a in leaves])
        network = o.description.get("network")
        self._network = network and {key: json.dumps(value) for key, value in network.items()}
        self._names = [f["leaf"] for f in o.description["fields"] if f["name"].startswith("member")]
        for i, (path, array) in enumerate(leaves):
            if not np.isfinite(array).all():
                raise Error(f"x0{path}: got a number that is not finite, want finite ones", 2)
            o.input(f"{'member' if archive else 'mean'}{i}")[...] = array
        self._threshold = hyperparameters.get("threshold_min", 0)
        o.call("start")

    def _members(self, leaves):
        """Members of the arrays of their leaves."""
        if self._network:
            return Genomes(dict(zip(self._names, leaves)), self._network)
        return unflatten(self._like, iter(leaves))

    def _member(self, leaves):
        return Network(dict(zip(self._names, leaves)), self._network) if self._network else self._members(leaves)

    def ask(self) -> Any:
        """The members of the next generation: a tree like x0, whose arrays have an axis of members in front. Those of
        neat are Genomes, of which each is a function. The arrays are read-only: copy what you want to change."""
        o, self._asked = self._object, None
        o.take()
        o.call("ask")
        asked = [o.output(f"member{i}") for i in range(len(self._names))]
        for leaf in asked:
            leaf.flags.writeable = False  # tell could not see what was written there
        self._asked = asked
        return self._members(asked)

    def tell(self, xs: Any, fitness: ArrayLike, measures: ArrayLike | None = None) -> None:
        """Learns from the fitness of the members that ask returned last: larger is better. NaN is the worst, and
        so are infinities, also of numbers that float32 cannot hold.

        measures, an array of a row for each member, say where in an archive it belongs. A member without finite fitness
        and measures is dropped: stats["dropped"] counts such members. Measures beyond their range are clipped to it,
        and stats["clipped"] counts such members. Error: the archive is still empty after the first generation, which
        is told only there.

        The strategy knows how it drew the members: it learns nothing from other ones, so xs must be what ask returned.
        """
        if self._asked is None:
            raise Error("tell: got the fitness of members that were not asked for, want ask before each tell", 2)
        asked = self._asked
        leaves = list(xs.arrays.values()) if isinstance(xs, Genomes) else [a for _, a in flatten(xs)]
        if len(leaves) != len(asked) or not all(x is y or np.array_equal(x, y) for x, y in zip(leaves, asked)):
            raise Error("tell: got other members than ask returned last, want those: the strategy knows how it drew "
                        "them and learns nothing from others", 2)
        o, scores = self._object, {"fitness": fitness, "measures": measures}
        for name, numbers in scores.items():
            if (name in o.fields) != (numbers is not None):
                raise Error(f"{name}: got {'none' if numbers is None else 'some'} for {self.name}, want "
                            f"{'none' if name == 'measures' and name not in o.fields else 'numbers'}", 2)
            if numbers is None:
                continue
            shape = tuple(o.fields[name]["shape"])
            try:
                scores[name] = np.asarray(numbers, np.float32)
            except (TypeError, ValueError):
                raise Error(f"{name}: got {type(numbers).__name__}, want {shape} numbers", 2) from None
            if scores[name].shape != shape:
                raise Error(f"{name}: got the shape {scores[name].shape}, want {shape}, a row for each member", 2)
        for name, numbers in scores.items():
            if numbers is not None:
                o.input(name)[...] = numbers
        fitness = scores["fitness"]
        o.call("tell")
        if "stats" in o.fields:
            self.stats = dict(zip(o.description["stats"], o.input("stats").tolist()))
        self.generation, self._asked = self.generation + 1, None
        told = np.isfinite(fitness)
        if self.name in searches:  # no member that the archive has refused is the best
            told &= np.isfinite(scores["measures"]).all(1) & (fitness <= np.float32(self.stats["best_fitness"]))
        finite = np.where(told, fitness, -np.inf)
        i = int(finite.argmax())
        if finite[i] > (-np.inf if self.best_fitness is None else self.best_fitness):
            self.best_fitness = float(finite[i])
            self.best = self._member([leaf[i].copy() for leaf in asked])
        if self.generation == 1 and self.name in searches and self.stats["best_fitness"] == -np.inf:
            self._empty()

    def _empty(self):
        """Raises why the archive has no elite after the first generation."""
        if self.stats["dropped"] == self.popsize:
            raise Error(f"tell: all {self.popsize} members of the first generation were dropped: none has finite "
                        "fitness and finite measures", 2)
        raise Error("tell: no member of the first generation entered the archive: their mean fitness is "
                    f"{self.stats['mean_fitness']:.4g}, and with learning_rate below 1 an empty cell takes only a "
                    f"fitness above threshold_min {self._threshold}: give one below the fitness that you expect", 2)

    @property
    def mean(self) -> Any:
        """The mean of the distribution, or the best of the members that a strategy keeps: a tree like x0."""
        o = self._object
        if "mean0" not in o.fields:
            return self.best
        o.call("mean")
        return self._member([o.input(f"mean{i}").copy() for i in range(len(self._names))])

    @property
    def archive(self) -> Archive:
        """The Archive of a search that fills one."""
        if self.name not in searches:
            raise AttributeError(f"{self.name} fills no archive: {' and '.join(searches)} do")
        places, shapes = self._object.shown("archive"), [f["shape"] for f in self._object.fields.values()
                                                         if f["name"].startswith("member")]
        occupied = places["objective"] > -np.inf
        index, objective, measures, flat = (places[name][occupied] for name in ("index", "objective", "measures",
                                                                              "solution"))
        ends = np.cumsum([np.prod(shape[1:], dtype=int) for shape in shapes])
        leaves = [part.reshape(-1, *shape[1:]) for part, shape in zip(np.split(flat, ends[:-1], 1), shapes)]
        return Archive(self._members(leaves), objective, measures, index, self.stats)

    def close(self) -> None:
        """Frees what the strategy has in the program. Letting go of the strategy does it later."""
        self._object.close()
