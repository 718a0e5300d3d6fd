"""Collectives of jax.lax under shard_map on 1, 2 and 3 devices, for graph: OUTPUT_DIR/jax_shard.json.

{"versions", "cases": [{"op", "input", "output", "gradient"}]}; arrays as in common.py, float32. Axis 0 of the input and of the
output is the mesh, one row a device. The gradient is that of sum(output * cos(0, 1, 2, …)).
"""
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=3"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import common  # noqa: E402

lax = jax.lax
OPS = {
    "psum": (lambda x, n: lax.psum(x, "lane"), [2, 3]),
    "pmean": (lambda x, n: lax.pmean(x, "lane"), [2, 3]),
    "pmax": (lambda x, n: lax.pmax(x, "lane"), [4]),
    "pmin": (lambda x, n: lax.pmin(x, "lane"), [4]),
    "all_gather": (lambda x, n: lax.all_gather(x, "lane"), [2]),
    "all_gather tiled": (lambda x, n: lax.all_gather(x, "lane", axis=1, tiled=True), [2, 3]),
    "ppermute": (lambda x, n: lax.ppermute(x, "lane", [(i, (i + 1) % n) for i in range(n)]), [3]),
    "ppermute to one": (lambda x, n: lax.ppermute(x, "lane", [(0, n - 1)]), [3]),
    "all_to_all": (lambda x, n: lax.all_to_all(x, "lane", 0, 0, tiled=True), [6, 2]),
    "psum_scatter": (lambda x, n: lax.psum_scatter(x, "lane", scatter_dimension=0, tiled=True), [6, 2]),
    "axis_index": (lambda x, n: x * (1 + lax.axis_index("lane")), [3]),
    "psum of a part": (lambda x, n: lax.psum(jnp.sin(x) * x, "lane") * x, [3]),
}


def main():
    random, all_cases = np.random.default_rng(9), []
    for n in (1, 2, 3):
        mesh = jax.sharding.Mesh(np.array(jax.devices()[:n]), ("lane",))
        part = jax.sharding.PartitionSpec("lane")
        for op, (of, dims) in OPS.items():
            x = jnp.asarray(random.normal(size=[n, *dims]), jnp.float32)
            f = jax.jit(jax.shard_map(lambda row: of(row[0], n)[None], mesh=mesh, in_specs=part, out_specs=part, check_vma=False))
            output = f(x)
            weights = jnp.cos(jnp.arange(output.size, dtype=jnp.float32)).reshape(output.shape)
            case = {"op": op, "input": common.encode(x), "output": common.encode(output)}
            if op not in ("pmax", "pmin"):  # JAX has no derivative of them
                case["gradient"] = common.encode(jax.jit(jax.grad(lambda x: jnp.sum(f(x) * weights)))(x))
            all_cases.append(case)
    common.write(os.path.join(common.out_dir(__doc__), "jax_shard.json"), {"versions": common.versions(), "cases": all_cases})


if __name__ == "__main__":
    main()
