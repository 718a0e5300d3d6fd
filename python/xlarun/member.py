"""A member that xlarun saved, and its actions."""
import json

import numpy as np

from . import safetensors
from .board_member import BoardMember
from .networks import networks
from .sparse import SparseMember


def load(path):
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
        raise ValueError(f"{path} has no {missing[0]} in its metadata: write it with xlarun export RUN --out {path}")
    return kind(arrays, metadata)


class Member:
    """A policy that acts. metadata and arrays are those of the file."""

    def __init__(self, arrays, metadata):
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
            raise NotImplementedError(f"the policy {name} is not among {', '.join(networks)}")
        return networks[name](arrays, metadata)

    def start(self):
        """The state at the start of an episode: what a member with memory remembers; None without memory."""
        return self.network.start()

    def outputs(self, observation, state=None, rng=None):
        """The network's outputs, [n], and the next state."""
        if state is None:
            state = self.start()
        out, state = self.network.step(self._input(observation), state, rng or np.random.default_rng())
        return np.asarray(out, np.float32), state

    def learn(self, state, reward):
        """The state after the reward of a step, given the state that act returned in it.

        A member whose weights change by rewards (policy.plasticity = rewarded) wants this call in each step. Other
        members return the state as it is.
        """
        if getattr(self.network, "plasticity", None) != "rewarded":
            return state
        if reward is None or np.shape(reward) != ():
            got = "is None" if reward is None else f"has the shape {list(np.shape(reward))}"
            raise ValueError(f"reward {got}, want a number")
        if state is None:
            raise ValueError("state is None: give the state that act returned")
        return self.network.learn(state, reward)

    def act(self, observation, state=None, actions=None, rng=None, legal=None):
        """The action for an observation, in the shape of the action space, and the next state.

        actions: "sampled" draws from the distribution, with rng, a numpy Generator; "greedy" takes the most probable
        action. The default is what the file says. legal: a mask of the actions that may be taken, a bool for each
        output, with at least one true for each choice. ValueError says what is wrong with an argument.
        """
        legal = self._mask(legal)
        out, state = self.outputs(observation, state, rng)
        if legal is not None:  # as policy.Legal in Go: an output that is NaN or -inf still beats an illegal one
            least = np.finfo(np.float32).min
            out = np.where(legal, np.where(out > least, out, least), -np.inf)
        actions = actions or self.actions
        if actions == "sampled":
            out = self._perturbed(out, rng or np.random.default_rng())
        elif actions != "greedy":
            raise ValueError(f'actions got {actions!r}, want "sampled" or "greedy"')
        return self._action(out), state

    def value(self, observation):
        """The critic's value of an observation, in units of scaled rewards, if the file was exported with --critic."""
        if self.critic is None:
            raise ValueError("the file has no critic: export a run of ppo with --critic")
        if self.metadata.get("value") != "plain":
            raise NotImplementedError(f"values of the head {self.metadata.get('value')} are read in Go only")
        if not hasattr(self.critic, "outputs"):
            raise NotImplementedError("critics with memory run in Go only")
        return float(self.critic.outputs(self._input(observation))[0])

    def _input(self, observation):
        space = self.observation_space
        if space["type"] == "Discrete":
            if np.ndim(observation) or not 0 <= observation < space["n"] or int(observation) != observation:
                raise ValueError(f"the observation got {observation!r}, want a whole number from 0 to {space['n'] - 1}")
            observation = np.eye(space["n"])[int(observation)]
        x = np.asarray(observation, np.float32)
        if space["type"] == "Box":
            if x.shape not in (tuple(space["shape"]), (int(np.prod(space["shape"])),)):
                raise ValueError(f"the observation has the shape {list(x.shape)}, want {space['shape']}: give one "
                                 "observation, not a batch")
            x = x.reshape(space["shape"])
        if self.metadata.get("normalized_observations") == "true":
            x = np.clip((x - self.arrays["Observation.Mean"]) / self.arrays["Observation.Deviation"], -10, 10)
        return x

    def _mask(self, legal):
        if legal is None:
            return None
        if self.action_space["type"] == "Box":
            raise ValueError("legal got a mask, but the actions are a Box, of which all are legal: leave it out")
        sizes = self.action_space["nvec"] if self.action_space["type"] == "MultiDiscrete" else [self.action_space["n"]]
        legal = np.asarray(legal)
        if legal.shape != (sum(sizes),):
            raise ValueError(f"legal has the shape {list(legal.shape)}, want [{sum(sizes)}], one for each action")
        legal = legal.astype(bool)
        if not all(own.any() for own in np.split(legal, np.cumsum(sizes)[:-1])):
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
            return np.array([np.argmax(own) for own in np.split(out, np.cumsum(space["nvec"])[:-1])])
        if self.metadata["head"] == "argmax":
            return int(np.argmax(out))
        bounds = zip(out, space["low"], space["high"])
        action = [y if None in (low, high) else (low + high) / 2 + (high - low) / 2 * np.tanh(y)
                  for y, low, high in bounds]
        return np.array(action, np.float32).reshape(space["shape"])
