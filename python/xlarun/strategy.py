"""Ask and tell: xlarun's strategies for an objective in Python."""
import numpy as np

from .process import Object
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
        made = {name: unflatten(like[name], leaves) for name in sorted(like)}
        return {name: made[name] for name in like}
    if isinstance(like, (list, tuple)):
        items = [unflatten(item, leaves) for item in like]
        return type(like)(*items) if hasattr(like, "_fields") else type(like)(items)
    return None if like is None else next(leaves)


class Strategy:
    """A strategy of `xlarun help strategies` that searches for members of high fitness.

    x0 is where it starts: one member, an array or a tree of dicts, lists and tuples of arrays. Members are float32.
    hyperparameters are the strategy's settings, such as learning_rate=0.05: `xlarun help strategies NAME` lists them.

    best and best_fitness are the best member so far, None before the first tell.
    """

    def __init__(self, name, *, popsize, x0, seed=0, **hyperparameters):
        leaves = []
        for path, leaf in flatten(x0):
            array = np.asarray(leaf)
            if array.dtype == np.float64 or array.dtype == np.int64 and not hasattr(leaf, "dtype"):
                array = array.astype(np.float32)
            leaves.append((path, array))
        for key, value in (("popsize", popsize), ("seed", seed)):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not -2**63 <= value < 2**63:
                raise Error(f"{key}: got {value!r}, want a whole number of 64 bits", 2)
        self.name, self.popsize, self.generation, self._like = name, int(popsize), 0, x0
        self.best = self.best_fitness = self._asked = None
        self._object = o = Object("strategy", name=name, popsize=int(popsize), seed=int(seed), settings=hyperparameters,
                                  leaves=[{"path": path, "dtype": str(a.dtype), "shape": a.shape}
                                          for path, a in leaves])
        self._leaves = len(leaves)
        for i, (path, array) in enumerate(leaves):
            if not np.isfinite(array).all():
                raise Error(f"x0{path}: got a number that is not finite, want finite ones", 2)
            o.input(f"mean{i}")[...] = array
        o.call("start")

    def ask(self):
        """The members of the next generation: a tree like x0, whose arrays have an axis of members in front."""
        o, self._asked = self._object, None
        o.take()
        o.call("ask")
        self._asked = unflatten(self._like, iter([o.output(f"member{i}") for i in range(self._leaves)]))
        return self._asked

    def tell(self, xs, fitness):
        """Learns from the fitness of the members that ask returned last: larger is better. NaN is the worst, and
        so are infinities, also of numbers that float32 cannot hold.

        The strategy knows how it drew the members: it learns nothing from other ones, so xs must be what ask returned.
        """
        if self._asked is None:
            raise Error("tell: got the fitness of members that were not asked for, want ask before each tell", 2)
        told, asked = flatten(xs), flatten(self._asked)
        if len(told) != len(asked) or not all(x is y or np.array_equal(x, y) for (_, x), (_, y) in zip(told, asked)):
            raise Error("tell: got other members than ask returned last, want those: the strategy knows how it drew "
                        "them and learns nothing from others", 2)
        try:
            fitness = np.asarray(fitness, np.float32)
        except (TypeError, ValueError):
            raise Error(f"fitness: got {type(fitness).__name__}, want {self.popsize} numbers", 2) from None
        if fitness.shape != (self.popsize,):
            raise Error(f"fitness: got the shape {fitness.shape}, want ({self.popsize},), one number of each member", 2)
        self._object.input("fitness")[...] = fitness
        self._object.call("tell")
        self.generation, self._asked = self.generation + 1, None
        finite = np.where(np.isfinite(fitness), fitness, -np.inf)
        i = int(finite.argmax())
        if finite[i] > (-np.inf if self.best_fitness is None else self.best_fitness):
            self.best_fitness = float(finite[i])
            self.best = unflatten(self._like, iter([leaf[i].copy() for _, leaf in asked]))

    @property
    def mean(self):
        """The mean of the distribution, or the best of the members that a strategy keeps: a tree like x0."""
        o = self._object
        o.call("mean")
        return unflatten(self._like, iter([o.input(f"mean{i}").copy() for i in range(self._leaves)]))

    def close(self):
        """Frees what the strategy has in the program. Letting go of the strategy does it later."""
        self._object.close()
