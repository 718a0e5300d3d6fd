"""Makes a policy for xlarun from a Flax network: its function as StableHLO text, and its parameters.

    python flax_policy.py FOLDER
    xlarun evolve CartPole-v1 --policy program:FOLDER/net.mlir --policy.params FOLDER/net.safetensors

It needs flax and safetensors. The function takes the parameters and one observation, without a batch.
"""

import sys

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax.traverse_util import flatten_dict
from safetensors.flax import save_file


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.LayerNorm()(nn.tanh(nn.Dense(16)(x)))
        return nn.Dense(2)(nn.silu(nn.Dense(8)(x)))


net, observation = Net(), jnp.zeros(4)  # of CartPole
params = net.init(jax.random.key(0), observation)  # or a network that was trained
exported = jax.export.export(jax.jit(net.apply, keep_unused=True))(params, observation)
folder = sys.argv[1]
with open(folder + "/net.mlir", "w") as f:
    f.write(exported.mlir_module())
save_file(flatten_dict(params, sep="."), folder + "/net.safetensors")
