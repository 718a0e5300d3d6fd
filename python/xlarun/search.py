"""Monte Carlo tree search of one position: Gumbel (Danihelka et al., 2022) and PUCT (Silver et al., 2018).

It is the search of the Go program (rollout/search), whose trees are those of mctx, in float32.
"""
import math
from typing import Any, NamedTuple

import numpy as np

from . import threefry

TINY, LOWEST = np.finfo(np.float32).tiny, np.finfo(np.float32).min
FRACTION, INIT, BASE = np.float32(0.25), np.float32(1.25), np.float32(19652)  # of mctx's muzero_policy


class Step(NamedTuple):
    """What an action leads to."""
    state: Any
    reward: float  # for the player who moved
    discount: float  # -1 if the other player moves next, 0 after the end
    logits: Any  # [actions]
    value: float  # for the player who moves there


class Found(NamedTuple):
    """The result of a search. Arrays have an element for each action."""
    action: int
    visits: Any
    values: Any  # for the player to move; 0 for actions that were not tried
    value: float  # of the position
    weights: Any  # the shares of the visits, or the policy that a search by Gumbel improved


class Node:
    def __init__(self, step):
        n = len(step.logits)
        self.state, self.reward, self.discount, self.logits = step.state, step.reward, step.discount, step.logits
        self.prior, self.value, self.raw, self.count = softmax(step.logits), step.value, step.value, np.float32(1)
        self.visits, self.values, self.children = np.zeros(n, np.float32), np.zeros(n, np.float32), {}


class Search:
    """model(state, action) returns a Step. max_depth: actions from the root to a node; 0: as many as simulations."""

    def __init__(self, model, simulations, kind="gumbel", considered=16, max_depth=0):
        self.model, self.simulations, self.gumbel = model, simulations, kind == "gumbel"
        self.considered, self.max_depth = considered, max_depth or simulations

    def run(self, state, logits, value, legal, seed=0, noise=None):
        """Searches from a state. seed draws what breaks ties of PUCT.

        noise, one number for each action, is Gumbel noise, or the Dirichlet noise in PUCT's prior; None: none.
        """
        keys = [threefry.fold(threefry.key(seed), i) for i in range(3)]
        n, self.illegal, self.noise = len(logits), ~legal, noise
        if self.gumbel:
            self.sequence = considered_visits(min(self.considered, legal.sum()), self.simulations)
            self.noise = np.zeros(n, np.float32) if noise is None else np.asarray(noise, np.float32)
        else:
            prior = softmax(logits)
            if noise is not None:
                prior = (1 - FRACTION) * prior + FRACTION * np.asarray(noise, np.float32)
            logits = np.log(np.maximum(prior, TINY))
            self.noise = threefry.uniform(threefry.fold(keys[0], 0), n)
        self.root = Node(Step(state, np.float32(0), np.float32(0), self.masked(logits), np.float32(value)))
        for _ in range(self.simulations):
            self.simulate()
        root = self.root
        if self.gumbel:
            action = self.best(self.root_scores(root, root.visits.max()), True)
            weights = softmax(np.where(legal, scaled_by_mixed_value(root) + root.logits, LOWEST))
        else:
            most = legal & (root.visits == root.visits[legal].max())
            action = int(np.argmax(np.where(most, threefry.gumbel(keys[2], n), -np.inf)))
            weights = root.visits / root.visits.sum()
        return Found(action, root.visits.astype(int), root.values, float(root.value), weights)

    def masked(self, logits):
        logits = np.where(self.illegal, LOWEST, logits)
        return np.where(self.illegal, LOWEST, logits - logits.max()).astype(np.float32)

    def simulate(self):
        node, path = self.root, []
        while True:
            action = self.best(self.scores(node, node is self.root), node is self.root)
            path.append((node, action))
            if action not in node.children or len(path) >= self.max_depth:
                break
            node = node.children[action]
        node, action = path[-1]
        step = self.model(node.state, action)
        child = Node(step)
        if action in node.children:  # at the largest depth: evaluated again
            old = node.children[action]
            child.visits, child.values, child.children = old.visits, old.values, old.children
            child.count = old.count + 1
        node.children[action] = child
        returned, value, reward, discount = step.value, step.value, step.reward, step.discount
        for node, action in reversed(path):
            returned = reward + discount * returned
            node.value = (node.value * node.count + returned) / (node.count + 1)
            node.count += np.float32(1)
            node.visits[action] += 1
            node.values[action] = reward + discount * value
            value, reward, discount = node.value, node.reward, node.discount

    def best(self, scores, at_root):
        return int(np.argmax(np.where(self.illegal, -np.inf, scores) if at_root else scores))

    def scores(self, node, at_root):
        if not self.gumbel:
            weight = np.sqrt(node.count) * (INIT + np.log((node.count + (BASE + 1)) / BASE))
            return (scaled_by_siblings(node) + weight * node.prior / (node.visits + 1) +
                    np.float32(1e-7) * self.noise)
        if at_root:
            return self.root_scores(node, self.sequence[int(node.visits.sum())])
        return softmax(scaled_by_mixed_value(node) + node.logits) - node.visits / (1 + node.visits.sum())

    def root_scores(self, node, visits):
        """Gumbel's scores at the root of the actions with these visits, -inf for the others."""
        scores = self.noise + (node.logits - node.logits.max()) + scaled_by_mixed_value(node)
        return np.where(node.visits == visits, np.maximum(scores, np.float32(-1e9)), -np.inf)


def softmax(x):
    x = np.exp(x - x.max())
    return x / x.sum()


def considered_visits(actions, simulations):
    """The visits of the actions that each simulation chooses from: sequential halving."""
    if actions <= 1:
        return list(range(simulations))
    sequence, visits, rounds, considered = [], [0] * actions, math.ceil(math.log2(actions)), actions
    while len(sequence) < simulations:
        for _ in range(max(1, simulations // (rounds * considered))):
            sequence += visits[:considered]
            visits[:considered] = [n + 1 for n in visits[:considered]]
        considered = max(2, considered // 2)
    return sequence[:simulations]


def scaled_by_siblings(node):
    """mctx's qtransform_by_parent_and_siblings: 0 to 1 between the smallest and the largest; 0 if not tried."""
    values = np.where(node.visits > 0, node.values, node.value)
    low, high = min(node.value, values.min()), max(node.value, values.max())
    return np.where(node.visits > 0, (values - low) / np.maximum(high - low, np.float32(1e-8)), np.float32(0))


def scaled_by_mixed_value(node):
    """mctx's qtransform_completed_by_mix_value."""
    tried, prior, total = node.visits > 0, np.maximum(node.prior, TINY), node.visits.sum()
    mean = (prior * node.values)[tried].sum() / prior[tried].sum() if tried.any() else np.float32(0)
    values = np.where(tried, node.values, (node.raw + total * mean) / (total + 1))
    low, high = values.min(), values.max()
    return (values - low) / np.maximum(high - low, np.float32(1e-8)) * (np.float32(0.1) * (50 + node.visits.max()))
