"""One update of proximal policy optimization for rollout/ppo, written to OUTPUT_DIR/jax_ppo.json.gz: losses, gradients and two steps of Adam on fixed experience.

{"versions": {...}, "cases": [{"actor", "critic", "observation", "action", "legal", "log_prob", "value", "advantage", "target", "clip", "value_weight", "entropy_weight",
  "max_norm", "rate", "clip_values", "losses", "gradients", "norm", "after"}...]}
  actor, critic         [w, b] of each layer, tanh between them
  observation           [n, 3]; action [n]; legal [n, 4], all true or with illegal actions, at -inf in the softmax
  log_prob, value       as they were when the experience was made
  losses                [total, policy, value, entropy, approximate divergence, clipped part]
  gradients             of the total, actor's leaves first; norm of all of them
  after                 the parameters after two steps on the same experience: gradients clipped by their norm (optax), Adam with eps 1e-5
"""
import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

from common import encode, out_dir, versions, write

N, IN, HIDDEN, ACTIONS = 24, 3, 5, 4


def net(layers, x):
    for i, (w, b) in enumerate(layers):
        x = x @ w + b
        if i < len(layers) - 1:
            x = jnp.tanh(x)
    return x


def losses(params, d, c):
    actor, critic = params
    logits = jnp.where(d["legal"], net(actor, d["observation"]), -jnp.inf)
    logs = jnp.where(d["legal"], jax.nn.log_softmax(jnp.where(d["legal"], logits, -1e30)), 0)
    probs = jnp.where(d["legal"], jnp.exp(logs), 0)
    change = jnp.take_along_axis(logs, d["action"][:, None], 1)[:, 0] - d["log_prob"]
    ratio = jnp.exp(change)
    g = (d["advantage"] - d["advantage"].mean()) / (d["advantage"].std() + 1e-8)
    policy = -jnp.minimum(ratio * g, jnp.clip(ratio, 1 - c["clip"], 1 + c["clip"]) * g).mean()
    v = net(critic, d["observation"])[:, 0]
    far = (v - d["target"]) ** 2
    if c["clip_values"]:
        near = d["value"] + jnp.clip(v - d["value"], -c["clip"], c["clip"])
        far = jnp.maximum(far, (near - d["target"]) ** 2)
    value = .5 * far.mean()
    entropy = -(probs * logs).sum(1).mean()
    total = policy + c["value_weight"] * value - c["entropy_weight"] * entropy
    return total, jnp.stack([total, policy, value, entropy, (ratio - 1 - change).mean(), (jnp.abs(ratio - 1) > c["clip"]).mean()])


def case(seed, masked, **c):
    r = np.random.default_rng(seed)
    f = lambda *s: jnp.asarray(r.normal(size=s), jnp.float32)
    layers = lambda out: [[f(IN, HIDDEN), f(HIDDEN)], [f(HIDDEN, out), f(out)]]
    params = [layers(ACTIONS), layers(1)]
    legal = np.ones((N, ACTIONS), bool)
    if masked:
        legal = r.random((N, ACTIONS)) < .5
        legal[np.arange(N), r.integers(0, ACTIONS, N)] = True
    action = np.array([r.choice(np.flatnonzero(row)) for row in legal])
    d = dict(observation=f(N, IN), action=jnp.asarray(action, jnp.int32), legal=jnp.asarray(legal), advantage=f(N), target=3 * f(N))
    logits = jnp.where(d["legal"], net(params[0], d["observation"]), -1e30)
    d["log_prob"] = jnp.take_along_axis(jax.nn.log_softmax(logits), d["action"][:, None], 1)[:, 0] + .3 * f(N)
    d["value"] = net(params[1], d["observation"])[:, 0] + .3 * f(N)
    gradient = jax.grad(lambda p: losses(p, d, c)[0])
    tx = optax.chain(optax.clip_by_global_norm(c["max_norm"]), optax.adam(c["rate"], eps=1e-5))
    after, state = params, tx.init(params)
    for _ in range(2):
        updates, state = tx.update(gradient(after), state, after)
        after = optax.apply_updates(after, updates)
    leaves = lambda tree: [encode(np.asarray(x)) for x in jax.tree.leaves(tree)]
    g = gradient(params)
    return {"actor": leaves(params[0]), "critic": leaves(params[1]), **{k: encode(np.asarray(v)) for k, v in d.items()}, **c,
            "losses": encode(np.asarray(losses(params, d, c)[1])), "gradients": leaves(g), "norm": float(optax.global_norm(g)), "after": leaves(after)}


cases = [
    case(0, False, clip=.2, value_weight=.5, entropy_weight=.01, max_norm=.5, rate=2.5e-4, clip_values=True),
    case(1, True, clip=.2, value_weight=.5, entropy_weight=.01, max_norm=.5, rate=2.5e-4, clip_values=True),
    case(2, True, clip=.1, value_weight=2., entropy_weight=.3, max_norm=100., rate=.01, clip_values=False),
]
write(os.path.join(out_dir(__doc__), "jax_ppo.json.gz"), {"versions": versions("optax"), "cases": cases})
