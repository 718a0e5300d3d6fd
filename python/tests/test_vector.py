"""Environments with the program, which XLARUN names or which is installed."""
import numpy as np
import pytest

from xlarun import program

gymnasium = pytest.importorskip("gymnasium", minversion="1.1")
try:
    program.program()
except program.Error as e:
    pytest.skip(str(e), allow_module_level=True)

import xlarun  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

MODES = list(AutoresetMode)


@pytest.mark.parametrize("id", ["CartPole-v1", "Pendulum-v1", "Forage-L1-v1"])
@pytest.mark.filterwarnings("ignore")
def test_checker(id):
    xlarun.make_vec(id, 1).close()
    check_env(gymnasium.make(f"xlarun/{id}").unwrapped)


def play(env, steps, action=lambda env, i: env.action_space.sample()):
    rows = []
    env.action_space.seed(1)
    for i in range(steps):
        a = action(env, i)
        rows.append((a, *env.step(a)))
    return rows


def test_seeds():
    """Environment i of seed s is the environment of seed s + i."""
    env, single_env = xlarun.make_vec("CartPole-v1", 3, seed=5), xlarun.make_vec("CartPole-v1", 1)
    first, _ = env.reset()
    again, _ = env.reset(seed=5)
    np.testing.assert_array_equal(first, again)
    rows = play(env, 60)
    observation, _ = single_env.reset(seed=7)
    np.testing.assert_array_equal(observation[0], first[2])
    for action, observation, reward, terminated, truncated, _ in rows:
        single = single_env.step(action[2:])
        np.testing.assert_array_equal(observation[2], single[0][0])
        assert (reward[2], terminated[2], truncated[2]) == (single[1][0], single[2][0], single[3][0])
    observations, _ = env.reset(seed=[7, 5, None])
    np.testing.assert_array_equal(observations[:2], first[[2, 0]])
    assert not np.array_equal(env.reset()[0][0], first[2]), "the next episode"
    a, b = (xlarun.make_vec("CartPole-v1", 1).reset()[0] for _ in range(2))
    assert not np.array_equal(a, b), "without a seed"


@pytest.mark.parametrize("mode", MODES)
def test_modes(mode):
    """An episode that ends begins anew as Gymnasium's mode says."""
    n = 4
    env = xlarun.make_vec("CartPole-v1", n, seed=0, autoreset_mode=mode)
    assert env.metadata["autoreset_mode"] == mode
    before, _ = env.reset()
    ended, over = np.zeros(n, bool), 0
    for i in range(60):
        observation, reward, terminated, truncated, info = env.step(np.zeros(n, int))
        done = terminated | truncated
        fresh = (np.abs(observation) <= 0.05).all(1)
        if mode == AutoresetMode.NEXT_STEP:
            assert fresh[ended].all() and not done[ended].any() and (reward[ended] == 0).all()
            assert not fresh[done].any() and (reward[~ended] == 1).all()
        elif mode == AutoresetMode.SAME_STEP:
            assert fresh[done].all() and ("final_obs" in info) == done.any()
            if done.any():
                np.testing.assert_array_equal(info["_final_obs"], done)
                assert (np.abs(info["final_obs"][done]) > 0.05).any(1).all()
        elif done.any():
            copy = observation.copy()
            observation, _ = env.reset(options={"reset_mask": done})
            assert (np.abs(observation[done]) <= 0.05).all()
            np.testing.assert_array_equal(observation[~done], copy[~done])
        over, ended = over + done.sum(), done
    assert over > 8


def test_arrays_that_somebody_holds_stay():
    env = xlarun.make_vec("CartPole-v1", 2, seed=0)
    results = [env.reset()[0]]
    copies = [results[0].copy()]
    for _ in range(8):
        results.append(env.step([0, 1])[0])
        copies.append(results[-1].copy())
    np.testing.assert_array_equal(results, copies)


def test_beside_gymnasium():
    """The dynamics of CartPole are Gymnasium's, with the same meaning of each mode."""
    reference = gymnasium.make_vec("CartPole-v1", 1, vectorization_mode="sync")
    env = xlarun.make_vec("CartPole-v1", 1, seed=3)
    observation, _ = env.reset()
    reference.reset(seed=0)
    reference.envs[0].unwrapped.state = observation[0].astype(float)
    for i in range(9):
        action = [i % 2]
        for a, b in zip(env.step(action)[:4], reference.step(action)[:4]):
            np.testing.assert_allclose(a, b, atol=1e-5)
    assert env.single_action_space == reference.single_action_space or env.single_action_space.n == 2


@pytest.mark.parametrize("how", ["vector_entry_point", "sync"])
def test_gymnasium_makes_them(how):
    """Gymnasium's own vector of single environments sees what ours do."""
    import xlarun.vector
    vector = gymnasium.make_vec("xlarun/CartPole-v1", num_envs=3, vectorization_mode=how)
    assert isinstance(vector.unwrapped, xlarun.vector.Vector) == (how != "sync")
    recorder = gymnasium.wrappers.vector.RecordEpisodeStatistics(vector)
    recorder.action_space.seed(0)
    env = xlarun.make_vec("CartPole-v1", 3)
    np.testing.assert_array_equal(recorder.reset(seed=4)[0], env.reset(seed=4)[0])
    lengths = []
    for _ in range(50):
        action = recorder.action_space.sample()
        want, got = recorder.step(action), env.step(action)
        for a, b in zip(want[:4], got[:4]):
            np.testing.assert_array_equal(a, b)
        lengths += list(want[4].get("episode", {"l": []})["l"])
    assert max(lengths) > 8
    vector.close()


def test_parameters_and_masks():
    short = xlarun.make_vec("CartPole-v1", 2, seed=0, max_steps=3)
    short.reset()
    assert [short.step([0, 1])[3].tolist() for _ in range(3)][-1] == [True, True]
    once = xlarun.make_vec("CartPole-v1", 1, seed=0, max_steps=True)  # a bool is a number, as in Gymnasium
    once.reset()
    assert once.step([0])[3].tolist() == [True]
    env = xlarun.make_vec("CartPole-v1", 2, gravity="1..20")
    env.reset()
    env.step([0, 1])


@pytest.mark.parametrize("arguments, want", [
    ({"id": "CartPol-v1"}, "did you mean CartPole-v1"),
    ({"id": "TicTacToe-v1"}, "a game of 2 players"),
    ({"num_envs": 0}, "num_envs: got 0"),
    ({"num_envs": 2.0}, "num_envs: got 2.0"),
    ({"gravit": 1}, "did you mean gravity"),
    ({"gravity": "x"}, "gravity"),
    ({"length": (0.1, 0.3)}, r'or two with \.\. between them, "0\.1\.\.0\.3"'),
    ({"gravity": float("nan")}, "gravity: got nan, want a finite number"),
    ({"gravity": None}, "gravity: got None, want a finite number"),
    ({"id": 5}, "id: got 5, want the name of an environment"),
    ({"num_envs": 10**20}, "num_envs: got 100000000000000000000, want a whole number of 64 bits"),
    ({"seed": 2**63}, "seed: got 9223372036854775808, want a whole number of 64 bits"),
])
def test_bad_arguments(arguments, want):
    with pytest.raises(xlarun.Error, match=want) as e:
        xlarun.make_vec(**{"id": "CartPole-v1", "num_envs": 2, **arguments})
    assert e.value.status == 2


def test_bad_calls():
    env = xlarun.make_vec("CartPole-v1", 2)
    with pytest.raises(xlarun.Error, match="want reset first"):
        env.step([0, 1])
    with pytest.raises(xlarun.Error, match="first reset"):
        env.reset(options={"reset_mask": np.ones(2, bool)})
    env.reset(seed=1)
    for actions in ([0], [[0, 1]], [0.5, 1], ["a", "b"], None):
        with pytest.raises(xlarun.Error, match="actions: got"):
            env.step(actions)
    with pytest.raises(xlarun.Error, match="got 2 for environment 1"):
        env.step([0, 2])
    for action in (np.int64(2**32), np.int64(-2**32), np.uint64(2**64 - 2**32)):  # int32 makes 0 of it
        with pytest.raises(xlarun.Error, match=f"got {action} for environment 1"):
            env.step(np.array([0, action], action.dtype))
    box = xlarun.make_vec("HalfCheetah-v5", 3)
    box.reset(seed=1)
    for wrong in (np.nan, np.inf, -np.inf, 1e300):  # was taken
        actions = np.full((3, 6), 2.0)  # clipped, as in Gymnasium
        with np.errstate(over="ignore"):
            box.step(actions)
            actions[2, 4] = wrong
            with pytest.raises(xlarun.Error, match="(?s)actions: got .* for environment 2, want finite float32 numbers"):
                box.step(actions)
        box.reset(seed=1)
    with pytest.raises(xlarun.Error, match="seed: got 3 seeds"):
        env.reset(seed=[1, 2, 3])
    for seed in (10**20, [1, 10**20], "a", 1.7, object()):
        with pytest.raises(xlarun.Error, match="seed: got .*, want whole numbers of 64 bits"):
            env.reset(seed=seed)
    with pytest.raises(xlarun.Error, match="reset_mask: got the shape"):
        env.reset(options={"reset_mask": [True]})
