"""Search trees of games with chance, of mctx 0.0.71, for rollout/search: OUTPUT_DIR/mctx_stochastic.json.gz.

{"versions": {...}, "model": M, "cases": [C]}; every value below is an array (common.py).
  M  A model of 29 states, 7 actions, 31 afterstates and 5 outcomes, drawn at random: "after" [29, 7] and "next" [31, 5] (int32),
     "chance" [31, 5], the outcomes' logits, "aftervalue" [31], "reward", "discount" [31, 5], "logits" [29, 7], "value" [29].
     A search with fewer actions and outcomes uses the first of each row.
  C  One search of B games side by side, as in mctx_trees.py, with "outcomes" beside "actions"; arrays over actions have the outcomes
     after them, except "invalid" and "noise".
"""
import os

import jax
import jax.numpy as jnp
import mctx
import numpy as np

from common import encode, out_dir, versions, write

STATES, ACTIONS, AFTER, OUTCOMES = 29, 7, 31, 5


def model():
    rng = np.random.default_rng(72)
    f = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    discount = rng.choice(np.array([-1, 1, 0.9, 0], np.float32), (AFTER, OUTCOMES), p=[0.5, 0.2, 0.2, 0.1])
    return {"after": rng.integers(0, AFTER, (STATES, ACTIONS)).astype(np.int32), "next": rng.integers(0, STATES, (AFTER, OUTCOMES)).astype(np.int32),
            "chance": f(AFTER, OUTCOMES), "aftervalue": np.tanh(f(AFTER)), "reward": (0.3 * f(AFTER, OUTCOMES)).astype(np.float32), "discount": discount,
            "logits": f(STATES, ACTIONS), "value": np.tanh(f(STATES))}


def case(m, simulations, actions, outcomes, batch, depth, masked, seed):
    rng = np.random.default_rng(seed)
    start = jnp.asarray(rng.integers(0, STATES, batch), jnp.int32)
    invalid = np.zeros((batch, actions), bool)
    if masked:  # from none to all but one
        for lane in range(batch):
            invalid[lane, rng.permutation(actions)[:lane * (actions - 1) // max(1, batch - 1)]] = True
    invalid = jnp.asarray(invalid)

    def decide(params, key, action, state):
        after = m["after"][state, action]
        return mctx.DecisionRecurrentFnOutput(chance_logits=m["chance"][after, :outcomes], afterstate_value=m["aftervalue"][after]), after

    def chance(params, key, outcome, after):
        state = m["next"][after, outcome]
        out = mctx.ChanceRecurrentFnOutput(action_logits=m["logits"][state, :actions], value=m["value"][state], reward=m["reward"][after, outcome],
                                           discount=m["discount"][after, outcome])
        return out, state

    root = mctx.RootFnOutput(prior_logits=m["logits"][start, :actions], value=m["value"][start], embedding=start)
    key = jax.random.key(seed)
    out = jax.jit(lambda root: mctx.stochastic_muzero_policy(None, key, root, decide, chance, simulations, invalid, max_depth=depth or None))(root)
    noise = jax.random.dirichlet(jax.random.split(key, 3)[1], jnp.full([actions], 0.3), shape=(batch,))
    t = search(m, key, root, decide, chance, simulations, invalid, depth)
    visits = np.asarray(t.children_visits)
    q = np.where(visits > 0, np.asarray(t.children_rewards + t.children_discounts * t.children_values), 0)
    weights = np.pad(np.asarray(out.action_weights), ((0, 0), (0, outcomes)))
    assert np.array_equal(np.asarray(out.search_tree.children_visits), visits[..., :actions])
    return {"name": f"{simulations} simulations, {actions} actions, {outcomes} outcomes, depth {depth}", "policy": "stochastic", "simulations": simulations,
            "actions": actions, "outcomes": outcomes, "depth": depth, "start": encode(start), "invalid": encode(invalid), "noise": encode(noise),
            "visits": encode(visits.astype(np.uint8)), "values": encode(t.node_values), "qvalues": encode(q.astype(np.float32)),
            "parents": encode(np.asarray(t.parents).astype(np.int8)), "weights": encode(weights), "action": encode(out.action)}


def search(m, key, root, decide, chance, simulations, invalid, depth):
    """The tree before the policy cuts the outcomes off: what mctx passes to its cut is caught."""
    from mctx._src import policies
    caught, cut = [], policies._mask_tree

    def catch(tree, actions, mode):
        if tree.children_visits.ndim == 3:  # that of all games
            caught.append(tree)
        return cut(tree, actions, mode)

    policies._mask_tree = catch
    try:
        return jax.jit(lambda root: [mctx.stochastic_muzero_policy(None, key, root, decide, chance, simulations, invalid, max_depth=depth or None),
                                     caught.pop()][1])(root)
    finally:
        policies._mask_tree = cut


def main():
    folder = out_dir(__doc__)
    m = model()
    traced = {k: jnp.asarray(v) for k, v in m.items()}
    sizes = [(50, 7, 5, 4, 0, False), (33, 4, 3, 3, 3, True), (64, 3, 5, 5, 6, False), (17, 1, 2, 3, 0, False), (20, 5, 1, 4, 0, True), (1, 3, 2, 1, 0, False)]
    cases = [case(traced, *size, 200 + i) for i, size in enumerate(sizes)]
    write(os.path.join(folder, "mctx_stochastic.json.gz"), {"versions": versions("mctx"), "model": {k: encode(v) for k, v in m.items()}, "cases": cases})


main()
