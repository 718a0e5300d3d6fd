"""Values of evosax 0.3.2's BBOB functions for cmd/xlarun-bench/bench/bbob, written to OUTPUT_DIR/evosax_bbob.json.gz.

{"versions": {...}, "instances": [INSTANCE...], "values": [VALUE...]}
  instance  "seed" and "dims": sample_params of jax.random.key(seed) gave "optimum", "r" and "q"; "x" are places, the optimum
            first, some of them outside of [-5, 5]
  value     "function", "instance" (its number), "rows" (the places that count) and "value", the penalty included, of all places
Arrays are encoded as common.py says. Places at which the step ellipsoid is within rounding distance of a step do not count.
"""
import os

import jax
import jax.numpy as jnp
import numpy as np
from evosax.problems.bbob.bbob_fns import bbob_fns, lambda_alpha
from evosax.problems.bbob.meta_bbob import MetaBBOBProblem

from common import encode, out_dir, versions, write


def clear_of_steps(x, params, d):
    z = lambda_alpha(10.0, d, d) @ params.R @ (x - params.x_opt)
    far = lambda y: jnp.abs(y - jnp.floor(y) - 0.5)
    return bool(jnp.all((far(z) > 1e-3) & (far(10 * z) > 1e-3) & (jnp.abs(jnp.abs(z) - 0.5) > 1e-3)))


def main():
    out = out_dir(__doc__)
    instances, values = [], []
    for d, seeds in ((2, (0,)), (3, (1,)), (10, (2, 3)), (40, (4, 5))):
        for seed in seeds:
            problem = MetaBBOBProblem(min_num_dims=d, max_num_dims=d)
            params = problem.sample_params(jax.random.key(seed))
            key = jax.random.key(1000 + seed)
            x = jax.random.uniform(key, (8, d), minval=-5.0, maxval=5.0)
            x = x.at[0].set(params.x_opt).at[1].set(params.x_opt + 0.01 * x[1]).at[6:].multiply(1.5)
            instances.append({"seed": seed, "dims": d, "optimum": encode(params.x_opt), "r": encode(params.R), "q": encode(params.Q), "x": encode(x)})
            for name, function in bbob_fns.items():
                x_opt = 0.75 * params.x_opt if name == "rosenbrock" else params.x_opt
                value, penalty = jax.vmap(lambda y: function(y, x_opt, params.R, params.Q, d))(x)
                rows = [i for i in range(len(x)) if name != "step_ellipsoidal" or clear_of_steps(x[i], params, d)]
                values.append({"function": name, "instance": len(instances) - 1, "rows": rows, "value": encode(np.asarray(value + penalty))})
    write(os.path.join(out, "evosax_bbob.json.gz"), {"versions": versions("evosax"), "instances": instances, "values": values})


main()
