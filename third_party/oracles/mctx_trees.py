"""Search trees of mctx 0.0.71 for rollout/search: OUTPUT_DIR/mctx_trees.json.gz.

{"versions": {...}, "model": M, "cases": [C]}; every value below is an array (common.py).
  M  A model of 29 states and 13 actions, drawn at random: "next" [29, 13] (int32), "reward", "discount", "logits" [29, 13],
     "value" [29]. A search with fewer actions uses the first of each row. "discount" is -1, 1, 0.9 or 0.
  C  One search of B games side by side: "name", "policy" ("puct", "gumbel"), "transform" ("siblings", "minmax", "mixed"), numbers
     "simulations", "actions", "depth" (0: none), "considered"; "start" [B], the games' first states; "invalid" [B, actions];
     "noise" [B, actions], Dirichlet's or Gumbel's as it was drawn; and what came of it: "visits" [B, nodes, actions],
     "values" [B, nodes], "qvalues" [B, nodes, actions] (0 where visits is 0), "parents" [B, nodes], "weights" [B, actions],
     "action" [B] (of Gumbel only: PUCT draws it).
"""
import functools
import os

import jax
import jax.numpy as jnp
import mctx
import numpy as np

from common import encode, out_dir, versions, write

STATES, ACTIONS = 29, 13
TRANSFORMS = {
    "siblings": mctx.qtransform_by_parent_and_siblings,
    "minmax": functools.partial(mctx.qtransform_by_min_max, min_value=-3.0, max_value=3.0),
    "mixed": mctx.qtransform_completed_by_mix_value,
}


def model():
    rng = np.random.default_rng(71)
    f = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    discount = rng.choice(np.array([-1, 1, 0.9, 0], np.float32), (STATES, ACTIONS), p=[0.5, 0.2, 0.2, 0.1])
    return {"next": rng.integers(0, STATES, (STATES, ACTIONS)).astype(np.int32), "reward": (0.3 * f(STATES, ACTIONS)).astype(np.float32),
            "discount": discount, "logits": f(STATES, ACTIONS), "value": np.tanh(f(STATES))}


def recurrent(m, actions):
    def step(params, key, action, state):
        after = m["next"][state, action]
        out = mctx.RecurrentFnOutput(reward=m["reward"][state, action], discount=m["discount"][state, action],
                                     prior_logits=m["logits"][after, :actions], value=m["value"][after])
        return out, after
    return step


def case(m, name, policy, transform, simulations, actions, batch, depth, considered, masked, seed):
    rng = np.random.default_rng(seed)
    start = jnp.asarray(rng.integers(0, STATES, batch), jnp.int32)
    invalid = np.zeros((batch, actions), bool)
    if masked:  # from none to all but one
        for lane in range(batch):
            invalid[lane, rng.permutation(actions)[:lane * (actions - 1) // max(1, batch - 1)]] = True
    invalid = jnp.asarray(invalid)
    root = mctx.RootFnOutput(prior_logits=m["logits"][start, :actions], value=m["value"][start], embedding=start)
    key = jax.random.key(seed)
    shared = dict(num_simulations=simulations, invalid_actions=invalid, max_depth=depth or None, qtransform=TRANSFORMS[transform])
    if policy == "puct":
        out = jax.jit(lambda root: mctx.muzero_policy(None, key, root, recurrent(m, actions), **shared))(root)
        noise = jax.random.dirichlet(jax.random.split(key, 3)[1], jnp.full([actions], 0.3), shape=(batch,))
    else:
        out = jax.jit(lambda root: mctx.gumbel_muzero_policy(None, key, root, recurrent(m, actions), max_num_considered_actions=considered, **shared))(root)
        noise = out.search_tree.extra_data.root_gumbel
    t = out.search_tree
    visits = np.asarray(t.children_visits)
    q = np.where(visits > 0, np.asarray(t.children_rewards + t.children_discounts * t.children_values), 0)
    return {"name": name, "policy": policy, "transform": transform, "simulations": simulations, "actions": actions, "depth": depth,
            "considered": considered, "start": encode(start), "invalid": encode(invalid), "noise": encode(noise),
            "visits": encode(visits.astype(np.uint8)), "values": encode(t.node_values), "qvalues": encode(q.astype(np.float32)),
            "parents": encode(np.asarray(t.parents).astype(np.int8)), "weights": encode(out.action_weights), "action": encode(out.action)}


def main():
    folder = out_dir(__doc__)
    m = model()
    traced = {k: jnp.asarray(v) for k, v in m.items()}
    cases = []
    plan = [("puct", "siblings"), ("puct", "minmax"), ("puct", "mixed"), ("gumbel", "mixed"), ("gumbel", "siblings"), ("gumbel", "minmax")]  # the first of each is its default
    sizes = [(50, 13, 5, 0, 16, False), (33, 7, 3, 3, 4, True), (17, 5, 4, 1, 5, True), (1, 3, 1, 0, 2, False), (64, 1, 2, 0, 16, False),
             (7, 13, 7, 2, 13, True), (41, 9, 6, 0, 1, True), (100, 8, 2, 12, 8, False)]
    for k, (policy, transform) in enumerate(plan):
        for simulations, actions, batch, depth, considered, masked in sizes if k % 3 == 0 else sizes[1:6:2]:
            name = f"{policy} {transform}: {simulations} simulations, {actions} actions, depth {depth}"
            cases.append(case(traced, name, policy, transform, simulations, actions, batch, depth, considered, masked, 100 + len(cases)))
    write(os.path.join(folder, "mctx_trees.json.gz"), {"versions": versions("mctx"), "model": {k: encode(v) for k, v in m.items()}, "cases": cases})


main()
