"""gymnax MinAtar Breakout, vmap(population) of scan(steps): a convolution of CHANNELS filters 3 x 3 and a dense layer of 32.
usage: gymnax_breakout.py POP STEPS CHANNELS"""
import sys
from serve import serve_jax
import jax, jax.numpy as jnp
import gymnax
POP, T, C = map(int, sys.argv[1:4])
env, env_params = gymnax.make("Breakout-MinAtar")
def policy(p, x):
    x = jax.lax.conv_general_dilated(x[None].astype(jnp.float32), p["k"], (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))[0]
    x = jax.nn.relu(x + p["b0"]).reshape(-1)
    x = jax.nn.relu(x @ p["w1"] + p["b1"])
    return jnp.argmax(x @ p["w2"] + p["b2"])
def rollout(p, key):
    k0, key = jax.random.split(key)
    obs, state = env.reset(k0, env_params)
    def step(c, _):
        obs, state, key, ret, alive = c
        key, ks = jax.random.split(key)
        obs, state, r, d, tr, _ = env.step(ks, state, policy(p, obs), env_params)
        return (obs, state, key, ret + r * alive, alive * (1 - (d | tr).astype(jnp.float32))), None
    return jax.lax.scan(step, (obs, state, key, jnp.float32(0), jnp.float32(1)), None, length=T)[0][3]
def init(key):
    ks = jax.random.split(key, 3)
    n = lambda k, *s: jax.random.normal(k, s) * .1
    return dict(k=n(ks[0], 3, 3, 4, C), b0=jnp.zeros(C), w1=n(ks[1], 64 * C, 32), b1=jnp.zeros(32), w2=n(ks[2], 32, 3), b2=jnp.zeros(3))
ps = jax.vmap(init)(jax.random.split(jax.random.key(0), POP))
ks = jax.random.split(jax.random.key(1), POP)
serve_jax(lambda p, k: jnp.mean(jax.vmap(rollout)(p, k)), (ps, ks))
