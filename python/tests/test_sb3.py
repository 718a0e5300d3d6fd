"""Environments as vectors of Stable-Baselines3, with the program."""
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("test_vector")  # which asks for the program

import torch  # noqa: E402
from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.vec_env import VecMonitor  # noqa: E402
import xlarun  # noqa: E402

VecEnv = xlarun.sb3.VecEnv  # as in the documents, without an import of the module
torch.set_num_threads(1)


def test_ends_of_episodes():
    """A step that ends an episode returns the next one's first observation, and the last one in its info."""
    env = VecEnv("CartPole-v1", 4, max_steps=6)
    env.seed(3)
    first = env.reset()
    again = VecEnv("CartPole-v1", 4, seed=3).reset()
    np.testing.assert_array_equal(first, again)
    for i in range(1, 7):
        observations, rewards, ended, infos = env.step(np.array([0, 1, 0, 1]))
        assert rewards.tolist() == [1] * 4 and ended.tolist() == [i == 6] * 4
    assert (np.abs(observations) <= 0.05).all()
    for info in infos:
        assert info["TimeLimit.truncated"] and np.abs(info["terminal_observation"]).max() > 0.05
    assert env.get_attr("single_action_space", [0, 1]) == [env.action_space] * 2, "of each environment that is named"
    assert env.env_is_wrapped(VecMonitor) == [False] * 4


def test_ppo_learns():
    env = VecMonitor(VecEnv("CartPole-v1", 16))
    model = PPO("MlpPolicy", env, n_steps=64, batch_size=256, n_epochs=10, learning_rate=2e-3, seed=0, device="cpu")
    model.learn(8192)
    episodes = [e["r"] for e in model.ep_info_buffer]
    assert np.mean(episodes[-30:]) > 60, "random actions keep the pole up for 22 steps"


def test_the_mode_of_autoreset():
    with pytest.raises(xlarun.Error, match="autoreset_mode: got 'Disabled', but Stable-Baselines3 has one mode"):
        VecEnv("CartPole-v1", 4, autoreset_mode="Disabled")
