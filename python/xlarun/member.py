"""A member that xlarun saved, and its actions."""
from __future__ import annotations

import json
import os
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import safetensors
from .board_member import BoardMember
from .networks import Batched, Loop, Stateless, networks
from .sparse import SparseMember


def load(path: str | os.PathLike[str]) -> Member | BoardMember | SparseMember:
    """Returns the member in a file of `xlarun export`. ValueError says what is wrong with the file.

    It is a Member, which acts in an environment; of a run of selfplay a BoardMember, of one of sparse a SparseMember.
    """
    arrays, metadata = safetensors.read(path)
    kinds = {"selfplay": (BoardMember, "setting.game"), "sparse": (SparseMember, "layers")}
    kind, key = kinds.get(metadata.get("kind"), (Member, None))
    wanted = [key] if key else ["policy", "head", "observation_space", "action_space"]
    missing = [key for key in wanted if key not in metadata]
    if missing == ["layers"]:
        raise ValueError(f"{path} has no layers in its metadata, as an older xlarun wrote it: go on with the run "
                         "(xlarun sparse --resume RUN), whose next file has them")
    if missing:
        raise ValueError(f"{path} has no {missing[0]} in its metadata, so it is no member: xlarun export RUN "
                         "--out FILE writes one to another file (of an archive with --cell)")
    return kind(arrays, metadata)


class Member:
    """A policy that acts. metadata and arrays are those of the file.

    Methods take one observation, or n of them as one array: then states, rewards and masks are of n, too, and begin
    with start(n).
    """

    def __init__(self, arrays: dict[str, NDArray[Any]], metadata: dict[str, str]):
        self.arrays, self.metadata = arrays, metadata
        self.observation_space = json.loads(metadata["observation_space"])
        self.action_space = json.loads(metadata["action_space"])
        self.actions = metadata.get("actions", "greedy")
        self.network = self._network(arrays, metadata)
        critic = {name[len("Critic."):]: a for name, a in arrays.items() if name.startswith("Critic.")}
        self.critic = self._network(critic, metadata) if critic else None

    @staticmethod
    def _network(arrays, metadata):
        name = metadata["policy"].split(":")[0]
        if name not in networks:
            raise NotImplementedError(f"the policy {name} is not among {', '.join(networks)}: if it is your own, set "
                                      f'xlarun.networks["{name}"] to a class with start() and step(x, state, rng)')
        network = networks[name](arrays, metadata)
        return network if isinstance(network, Batched) else Loop(network)

    def jax(self) -> tuple[Any, dict[str, Any]]:
        """The network as a pure function of JAX and its parameters: (apply, params).

        apply(params, observation, state=None) takes one observation without a batch, for jax.vmap, and returns the
        outputs and the next state; state None begins an episode. params has the names of the file.
        NotImplementedError names a policy that runs in NumPy only.
        """
        from .jax_function import function
        return function(self)

    def nnx(self) -> Any:
        """The network as a flax.nnx.Module, whose nnx.Param have the names of the file.

        outputs, state = module(observations, state) as with torch.
        """
        from .nnx_module import Module
        return Module(self)

    def torch(self) -> Any:
        """The network as a torch.nn.Module, whose state_dict has the names of the file.

        outputs, state = module(observations, state) takes n observations and their states; state None begins n
        episodes. NotImplementedError names a policy that runs in NumPy only.
        """
        from .torch_module import Module
        return Module(self)

    def _parameters(self):
        """The arrays that training changes, for jax and torch, and those that it keeps: how to scale observations."""
        if not isinstance(self.network, Batched):
            raise NotImplementedError(f"the policy {self.metadata['policy']} runs in NumPy only: its steps are loops "
                                      "over single numbers, not products of arrays")
        prefixes = ("Observation.", "Critic.", "Connections.", "Nodes.")  # the last two are genomes, which draw layers
        return ({name: a for name, a in self.arrays.items() if not name.startswith(prefixes)},
                {name: a for name, a in self.arrays.items() if name.startswith("Observation.")})

    def start(self, n: int | None = None) -> Any:
        """The state at the start of an episode, or of n: what a member with memory remembers; None without memory."""
        return self.network.start(n) if n is not None else self.network.member_of_one(self.network.start(1))

    def outputs(self, observation: ArrayLike, state: Any = None,
                rng: np.random.Generator | None = None) -> tuple[NDArray[np.float32], Any]:
        """The network's outputs, [outputs] or [n, outputs], and the next state."""
        x, batch = self._input(observation)
        if state is None:
            state = self.network.start(len(x))
        elif not batch:
            state = self.network.batch_of_one(state)
        elif self.network.size(state) != len(x):
            raise ValueError(f"the state is of {self.network.size(state)} episodes, want one for each of the {len(x)} "
                             f"observations: begin with start({len(x)})")
        out, state = self.network.step(x, state, rng or np.random.default_rng())
        out = np.asarray(out, np.float32)
        return (out, state) if batch else (out[0], self.network.member_of_one(state))

    def learn(self, state: Any, reward: ArrayLike) -> Any:
        """The state after the reward of a step, given the state that act returned in it.

        A member whose weights change by rewards (policy.plasticity = rewarded) wants this call in each step. Other
        members return the state as it is.
        """
        network = getattr(self.network, "network", None)
        if getattr(network, "plasticity", None) != "rewarded":
            return state
        if state is None:
            if reward is not None and np.shape(reward) == ():
                raise ValueError("state is None: give the state that act returned")
        elif isinstance(state, list) and np.shape(reward) == (len(state),):
            return [network.learn(memory, r) for memory, r in zip(state, reward)]
        elif not isinstance(state, list) and reward is not None and np.shape(reward) == ():
            return network.learn(state, reward)
        got = "is None" if reward is None else f"has the shape {list(np.shape(reward))}"
        raise ValueError(f"reward {got}, want " + (f"{len(state)} numbers" if isinstance(state, list) else "a number"))

    def act(self, observation: ArrayLike, state: Any = None, actions: Literal["sampled", "greedy"] | None = None,
            rng: np.random.Generator | None = None, legal: ArrayLike | None = None) -> tuple[Any, Any]:
        """The action for an observation, in the shape of the action space, and the next state.

        For n observations it returns n actions. actions: "sampled" draws from the distribution, with rng, a numpy
        Generator; "greedy" takes the most probable action. The default is what the file says. legal: a mask of the
        actions that may be taken, a bool for each output, with at least one true for each choice. ValueError says what
        is wrong with an argument.
        """
        mask = self._mask(legal)
        out, state = self.outputs(observation, state, rng)
        if mask is not None:  # as policy.Legal in Go: an output that is NaN or -inf still beats an illegal one
            if mask.ndim > out.ndim or mask.ndim == 2 and len(mask) != len(out):
                raise ValueError(f"legal has the shape {list(mask.shape)}, want {list(out.shape)}, a row for each "
                                 "observation")
            least = np.finfo(np.float32).min
            out = np.where(mask, np.where(out > least, out, least), -np.inf)
        actions = actions or self.actions
        if actions == "sampled":
            out = self._perturbed(out, rng or np.random.default_rng())
        elif actions != "greedy":
            raise ValueError(f'actions got {actions!r}, want "sampled" or "greedy"')
        return self._action(out), state

    def value(self, observation: ArrayLike) -> float | NDArray[np.float32]:
        """The critic's value of an observation, in units of scaled rewards, if the file was exported with --critic."""
        if self.critic is None:
            raise ValueError("the file has no critic: export a run of ppo with --critic")
        if self.metadata.get("value") != "plain":
            raise NotImplementedError(f"values of the head {self.metadata.get('value')} are read in Go only")
        if not isinstance(self.critic, Stateless):
            raise NotImplementedError("critics with memory run in Go only")
        x, batch = self._input(observation)
        values = self.critic.outputs(x)[:, 0]
        return values if batch else float(values[0])

    def _input(self, observation):
        """Observations as the network takes them, [n, …], and whether they were more than one, as an array of n."""
        space = self.observation_space
        if space["type"] == "Discrete":
            numbers = np.atleast_1d(np.asarray(observation))
            if numbers.ndim > 1 or not np.all((0 <= numbers) & (numbers < space["n"]) & (numbers == np.floor(numbers))):
                raise ValueError(f"the observation got {observation!r}, want a whole number from 0 to {space['n'] - 1}")
            return self._normalized(np.eye(space["n"], dtype=np.float32)[numbers.astype(int)]), np.ndim(observation) > 0
        x = np.asarray(observation, np.float32)
        batch = False
        if space["type"] == "Box":
            shape, size = tuple(space["shape"]), int(np.prod(space["shape"]))
            batch = x.ndim > 0 and x.shape[1:] == shape and x.shape != (size,)
            if x.size == 0 or not batch and x.shape not in (shape, (size,)):
                raise ValueError(f"the observation has the shape {list(x.shape)}, want {space['shape']}, or "
                                 f"{['n', *space['shape']]} for n observations".replace("'", ""))
            x = x.reshape(-1, *shape)
        return self._normalized(x), batch

    def _normalized(self, x, arrays=None):
        if self.metadata.get("normalized_observations") == "true":
            arrays = arrays or self.arrays
            x = ((x - arrays["Observation.Mean"]) / arrays["Observation.Deviation"]).clip(-10, 10)
        return x

    def _mask(self, legal):
        if legal is None:
            return None
        if self.action_space["type"] == "Box":
            raise ValueError("legal got a mask, but the actions are a Box, of which all are legal: leave it out")
        sizes = self.action_space["nvec"] if self.action_space["type"] == "MultiDiscrete" else [self.action_space["n"]]
        legal = np.asarray(legal)
        if legal.ndim not in (1, 2) or legal.shape[-1] != sum(sizes):
            raise ValueError(f"legal has the shape {list(legal.shape)}, want [{sum(sizes)}], one for each action")
        legal = legal.astype(bool)
        if not all(own.any(-1).all() for own in np.split(legal, np.cumsum(sizes)[:-1], -1)):
            raise ValueError("legal allows no action: want at least one that is true for each choice")
        return legal

    def _perturbed(self, out, rng):
        """Outputs with noise. The most probable action of these is a draw from the distribution."""
        if self.metadata["head"] == "argmax":
            return out + rng.gumbel(size=out.shape)
        if "Distribution.Log" not in self.arrays:
            raise ValueError('the member has no distribution over actions: only "greedy" works')
        return out + np.exp(self.arrays["Distribution.Log"]) * rng.normal(size=out.shape)

    def _action(self, out):
        space = self.action_space
        if space["type"] == "MultiDiscrete":
            return np.stack([own.argmax(-1) for own in np.split(out, np.cumsum(space["nvec"])[:-1], -1)], -1)
        if self.metadata["head"] == "argmax":
            return int(np.argmax(out)) if out.ndim == 1 else out.argmax(-1)
        bounds = zip(np.moveaxis(out, -1, 0), space["low"], space["high"])
        action = [y if None in (low, high) else (low + high) / 2 + (high - low) / 2 * np.tanh(y)
                  for y, low, high in bounds]
        return np.stack(action, -1).astype(np.float32).reshape(*out.shape[:-1], *space["shape"])
