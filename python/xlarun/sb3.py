"""xlarun's environments for Stable-Baselines3, whose vectors have an interface of their own."""
import numpy as np

try:
    from stable_baselines3.common.vec_env import VecEnv as Base
except ModuleNotFoundError:
    raise ImportError("xlarun.sb3 needs Stable-Baselines3: pip install stable-baselines3") from None

from .program import Error
from .vector import AutoresetMode, Vector


class VecEnv(Base):
    """make_vec for Stable-Baselines3: PPO("MlpPolicy", VecMonitor(VecEnv("CartPole-v1", 64))).

    Episodes begin anew in the step that ends them. Arguments are those of make_vec, without autoreset_mode. An
    action_mask of make_vec is left out: Stable-Baselines3 has no place for it.
    """

    def __init__(self, id, num_envs=1, **arguments):
        if "autoreset_mode" in arguments:
            raise Error(f"autoreset_mode: got {arguments['autoreset_mode']!r}, but Stable-Baselines3 has one mode, "
                        "SAME_STEP: leave it out", 2)
        self.vector = Vector(id, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **arguments)
        super().__init__(num_envs, self.vector.single_observation_space, self.vector.single_action_space)

    def reset(self):
        observations, _ = self.vector.reset(seed=None if None in self._seeds else self._seeds)
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions):
        self.actions = actions

    def step_wait(self):
        observations, rewards, terminated, truncated, info = self.vector.step(self.actions)
        ended, infos = terminated | truncated, [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(ended):
            infos[i]["terminal_observation"] = info["final_obs"][i]
            infos[i]["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
        return observations, rewards, ended, infos

    def close(self):
        self.vector.close()

    def get_attr(self, attr_name, indices=None):
        return [getattr(self.vector, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name, value, indices=None):
        raise AttributeError(f"{attr_name} cannot be set: give parameters to {type(self).__name__}")

    def env_method(self, method_name, *args, indices=None, **kwargs):
        raise AttributeError(f"the environments have no method {method_name}: the program steps them all at once")

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False for _ in self._get_indices(indices)]
