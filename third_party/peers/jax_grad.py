"""Value and gradient of small networks in JAX as its users write them, for xlarun bench grad.

usage: jax_grad.py mlp|cnn|cnn-scan|gru"""
import math, sys
from serve import serve_jax
import jax, jax.numpy as jnp, numpy as np


def number(seed, n):
    h = (np.arange(1, n + 1, dtype=np.uint32)) * np.uint32(2654435761) + np.uint32(seed * 2246822519 % 2**32)
    h = (h ^ h >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    h = (h ^ h >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return h ^ h >> np.uint32(16)

def uniform(seed, scale, *dims):
    v = (number(seed, math.prod(dims)).astype(np.float64) / 2**31 - 1) * scale
    return jnp.asarray(v.astype(np.float32).reshape(dims))

def classes(seed, n, *dims): return jnp.asarray((number(seed, math.prod(dims)) % np.uint32(n)).astype(np.int32).reshape(dims))

def glorot(seed, *dims): return uniform(seed, math.sqrt(3 / math.prod(dims[:-1])), *dims)

def dense(seed, n, m): return dict(w=glorot(seed, n, m), b=uniform(seed + 1, .1, m))

def cross_entropy(logits, y): return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()


def mlp_loss(p, b):
    x, y = b
    x = jax.nn.relu(x @ p[0]["w"] + p[0]["b"])
    x = jax.nn.relu(x @ p[1]["w"] + p[1]["b"])
    return cross_entropy(x @ p[2]["w"] + p[2]["b"], y)

def mlp_args(): return [dense(1, 784, 512), dense(3, 512, 512), dense(5, 512, 10)], (uniform(7, 1, 256, 784), classes(8, 10, 256))


def conv(x, w): return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

def cnn_loss(p, b):
    x, y = b
    x = jax.nn.relu(conv(x, p["w1"]) + p["b1"])
    x = jax.nn.relu(conv(x, p["w2"]) + p["b2"])
    return cross_entropy(x.reshape(x.shape[0], -1) @ p["out"]["w"] + p["out"]["b"], y)

def cnn_params():
    return dict(w1=glorot(11, 3, 3, 1, 16), b1=uniform(12, .1, 16), w2=glorot(13, 3, 3, 16, 32), b2=uniform(14, .1, 32), out=dense(15, 28 * 28 * 32, 10))

def cnn_args(): return cnn_params(), (uniform(17, 1, 128, 28, 28, 1), classes(18, 10, 128))

def cnn_scan_args(): return cnn_params(), (uniform(17, 1, 8, 128, 28, 28, 1), classes(18, 10, 8, 128))

def cnn_scan(p, batches):
    def step(p, b):
        l, g = jax.value_and_grad(cnn_loss)(p, b)
        return jax.tree.map(lambda a, d: a - .01 * d, p, g), l
    p, losses = jax.lax.scan(step, p, batches)
    return losses.mean(), p


def gru_loss(p, b):
    x, y = b
    def step(h, fx):
        xr, xz, xn = jnp.split(fx, 3, -1)
        hr, hz, hn = jnp.split(h @ p["wh"], 3, -1)
        r, z = jax.nn.sigmoid(xr + hr), jax.nn.sigmoid(xz + hz)
        n = jnp.tanh(xn + r * (hn + p["bn"]))
        h = (1 - z) * n + z * h
        return h, h
    fx = x @ p["wx"] + p["b"]
    _, states = jax.lax.scan(step, jnp.zeros((x.shape[0], 128)), fx.swapaxes(0, 1))
    return jnp.mean((states.mean(0) - y) ** 2)

def gru_args():
    return (dict(wx=glorot(21, 64, 384), wh=glorot(22, 128, 384), b=uniform(23, .1, 384), bn=uniform(24, .1, 128)),
            (uniform(25, 1, 64, 100, 64), uniform(26, 1, 64, 128)))


workloads = {
    "mlp": (jax.value_and_grad(mlp_loss), mlp_args),
    "cnn": (jax.value_and_grad(cnn_loss), cnn_args),
    "cnn-scan": (cnn_scan, cnn_scan_args),
    "gru": (jax.value_and_grad(gru_loss), gru_args),
}
def checks(out):
    loss, values = out
    return float(loss), math.sqrt(sum(float((np.asarray(v, np.float64) ** 2).sum()) for v in jax.tree.leaves(values)))

jax.jit(lambda x: x + 1)(jnp.ones(3)).block_until_ready()  # the first compilation of a process costs more
f, args = workloads[sys.argv[1]]
serve_jax(lambda *a: f(*a), args(), checks=checks)
