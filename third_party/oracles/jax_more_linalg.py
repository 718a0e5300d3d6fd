"""Functions of jax.numpy and jax.numpy.linalg over the factorisations, for graph: OUTPUT_DIR/jax_more_linalg.json.

{"versions", "cases": [{"op", "numbers": [arguments], "inputs", "output", "gradient"}]}; arrays as in common.py, float32. The gradient
is that of sum(output * cos(0, 1, 2, …)) by the first input; null where there is none.
"""
import os

import jax
import jax.numpy as jnp
import numpy as np

import common

linalg = jnp.linalg
OPS = {
    "pinv": lambda numbers, x: linalg.pinv(x),
    "matrix_rank": lambda numbers, x: linalg.matrix_rank(x),
    "cond": lambda numbers, x: linalg.cond(x),
    "matrix_power": lambda numbers, x: linalg.matrix_power(x, int(numbers[0])),
    "multi_dot": lambda numbers, *x: linalg.multi_dot(x),
    "cross": lambda numbers, x, y: jnp.cross(x, y),
    "vector_norm": lambda numbers, x: linalg.norm(x, axis=int(numbers[0]), ord=numbers[1]),
    "trace": lambda numbers, x: jnp.trace(x, offset=int(numbers[0]), axis1=-2, axis2=-1),
    "diagonal": lambda numbers, x: jnp.diagonal(x, offset=int(numbers[0]), axis1=-2, axis2=-1),
    "diag": lambda numbers, x: jnp.diag(x, k=int(numbers[0])),
    "cholesky": lambda numbers, x: linalg.cholesky(x @ jnp.swapaxes(x, -1, -2) + jnp.eye(x.shape[-1])),
    "inv": lambda numbers, x: linalg.inv(x),
    "det": lambda numbers, x: linalg.det(x),
    "slogdet": lambda numbers, x: linalg.slogdet(x)[1],
    "solve": lambda numbers, a, b: linalg.solve(a, b),
    "svdvals": lambda numbers, x: linalg.svd(x, compute_uv=False),
    "norm": lambda numbers, x: linalg.norm(x, axis=(-2, -1), ord=int(numbers[0])),
}


def cases():
    random = np.random.default_rng(5)

    def draw(*shape):
        return random.normal(size=shape).astype(np.float32)

    low = draw(5, 2) @ draw(2, 4)
    inf = np.inf
    for op, numbers, inputs in [
        ("pinv", [], [draw(4, 3)]), ("pinv", [], [draw(3, 5)]), ("pinv", [], [draw(2, 3, 4)]), ("pinv", [], [np.zeros((2, 3), np.float32)]),
        ("matrix_rank", [], [low]), ("matrix_rank", [], [draw(3, 4, 4)]), ("matrix_rank", [], [np.zeros((2, 2), np.float32)]),
        ("cond", [], [draw(4, 4)]), ("cond", [], [draw(2, 3, 5)]),
        ("matrix_power", [0], [draw(3, 3)]), ("matrix_power", [1], [draw(3, 3)]), ("matrix_power", [7], [draw(3, 3)]),
        ("matrix_power", [-2], [draw(3, 3)]), ("matrix_power", [3], [draw(2, 3, 3)]),
        ("multi_dot", [], [draw(2, 30), draw(30, 3), draw(3, 20), draw(20, 4)]), ("multi_dot", [], [draw(6), draw(6, 2), draw(2, 3)]),
        ("multi_dot", [], [draw(2, 6), draw(6, 2), draw(2)]), ("multi_dot", [], [draw(6), draw(6, 2), draw(2)]),
        ("multi_dot", [], [draw(2, 3), draw(3, 4)]),
        ("cross", [], [draw(3), draw(3)]), ("cross", [], [draw(4, 3), draw(3)]), ("cross", [], [draw(2, 1, 3), draw(4, 3)]),
        ("cross", [], [draw(5, 2), draw(5, 2)]), ("cross", [], [draw(2), draw(3)]), ("cross", [], [draw(3), draw(2)]),
        *[("vector_norm", [axis, ord], [draw(3, 4)]) for axis in (0, -1) for ord in (0, 1, 2, 3, 0.5, -1, inf, -inf)],
        *[("trace", [k], [draw(3, 5)]) for k in (0, 1, -1, 4, -2, 9)], ("trace", [1], [draw(2, 4, 3)]),
        *[("diagonal", [k], [draw(3, 5)]) for k in (0, 2, -2)], ("diagonal", [-1], [draw(2, 4, 3)]),
        *[("diag", [k], [draw(3)]) for k in (0, 2, -1)],
        ("cholesky", [], [draw(2, 3, 3)]), ("inv", [], [draw(2, 2, 3, 3)]), ("det", [], [draw(2, 3, 3)]), ("det", [], [draw(3, 5, 5)]),
        ("slogdet", [], [draw(2, 4, 4)]), ("solve", [], [draw(2, 3, 3), draw(2, 3, 2)]), ("solve", [], [draw(2, 3, 3), draw(3)]),
        ("solve", [], [draw(3, 3), draw(4, 3, 2)]), ("solve", [], [draw(5, 1, 3, 3), draw(4, 3, 2)]), ("svdvals", [], [draw(2, 4, 3)]),
        ("norm", [2], [draw(2, 3, 4)]), ("norm", [1], [draw(2, 3, 4)]),
    ]:
        yield op, [float(x) for x in numbers], inputs


def main():
    all_cases = []
    for op, numbers, inputs in cases():
        def f(*x):
            return OPS[op](numbers, *x)
        output = f(*map(jnp.asarray, inputs))
        gradient = None
        if jnp.issubdtype(output.dtype, jnp.floating):
            weights = jnp.cos(jnp.arange(output.size, dtype=jnp.float32)).reshape(output.shape)
            gradient = common.encode(jax.grad(lambda x, *rest: jnp.sum(f(x, *rest) * weights))(*map(jnp.asarray, inputs)))
        finite = [x if np.isfinite(x) else ("inf" if x > 0 else "-inf") for x in numbers]
        all_cases.append({"op": op, "numbers": [str(x) for x in finite], "inputs": [common.encode(x) for x in inputs],
                          "output": common.encode(output), "gradient": gradient})
    common.write(os.path.join(common.out_dir(__doc__), "jax_more_linalg.json"), {"versions": common.versions(), "cases": all_cases})


if __name__ == "__main__":
    main()
