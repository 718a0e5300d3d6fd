"""Transitions of gymnax 1.0.1's MinAtar, bsuite and miscellaneous environments for envs/minatar, envs/small and envs/mnist,
one file each: OUTPUT_DIR/minatar/testdata/<id>.json.gz and so on.

{"versions": {...}, "env": id, "parameters": {name: array}, "changed": [names], "raw": R, "reset": S}; every value below is
an array (common.py) whose first axis is the row, whole numbers in the smallest dtype that holds them all. Names are those
of the fields in Go; "changed" names the parameters that are not gymnax's defaults.
  R  2,000 rows of step_env, no auto-reset, whose keys are jax.random.split(jax.random.key(1), 2000). "state" and "next" are
     objects field -> array, "action" int [rows] or float32 [rows, n], "obs", "reward", "terminated" (the rule of the
     environment), "truncated" (next time >= max_steps). Half of the rows are random play from resets; the rest are
     states spread over what the rules can meet, with times near the step limit.
  S  64 rows of reset: "key" [rows, 2], "state", "obs".
Where "packed" is true, "obs" is uint8 [rows, bytes]: the zeros and ones of a row, the highest bit first.
"""
import os

import gymnax
import jax
import jax.numpy as jnp
import numpy as np
from gymnax.utils import load_mnist

from common import encode, out_dir, versions, write

ROWS, LANES, RESETS = 2000, 50, 64


def small(x):
    """x in the smallest dtype that holds whole numbers; floats stay."""
    a = np.asarray(x)
    if a.dtype == bool or a.dtype == np.uint32:
        return a
    if a.dtype.kind == "f":
        return a.astype(np.float32)
    for dtype in (np.int8, np.int16, np.int32):
        if a.size == 0 or (a.min() >= np.iinfo(dtype).min and a.max() <= np.iinfo(dtype).max):
            return a.astype(dtype)
    return a


def renamed(**names):
    """Fields of Go, by name, that are one field of gymnax each."""
    return lambda s: {ours: s[theirs] for ours, theirs in names.items()}


# --- MinAtar -------------------------------------------------------------------------------------------------------

def rows_of_bits(grid):
    """A set of cells as one number for each row, whose bit x is column x."""
    return ((np.asarray(grid) != 0) << np.arange(10)).sum(-1)


def breakout(s):
    return {"BallY": s["ball_y"], "BallX": s["ball_x"], "BallDir": s["ball_dir"], "LastY": s["last_y"], "LastX": s["last_x"],
            "Pos": s["pos"], "Bricks": rows_of_bits(s["brick_map"]), "Strike": s["strike"], "Time": s["time"]}


def breakout_spread(rng, s, n):
    bricks = np.zeros((n, 10, 10))
    bricks[:, 1:4] = rng.random((n, 3, 10)) < rng.choice([0, 0.05, 0.5, 0.95, 1], n)[:, None, None]
    x = rng.integers(0, 10, n)
    near = np.clip(x + rng.integers(-1, 2, n), 0, 9)
    return s | {"ball_y": rng.choice([0, 1, 2, 3, 4, 5, 7, 8, 8, 8], n), "ball_x": x, "ball_dir": rng.integers(0, 4, n),
                "pos": np.where(rng.random(n) < 0.7, near, rng.integers(0, 10, n)), "brick_map": bricks, "strike": rng.random(n) < 0.3,
                "last_y": rng.integers(0, 9, n), "last_x": rng.integers(0, 10, n)}


def freeway(s):
    cars = s["cars"]
    return {"Pos": s["pos"], "MoveTimer": s["move_timer"], "CarX": cars[:, :, 0], "CarTimer": cars[:, :, 2], "CarSpeed": cars[:, :, 3], "Time": s["time"]}


def freeway_spread(rng, s, n):
    cars = np.array(s["cars"])
    speed = rng.integers(1, 6, (n, 8))
    cars[:, :, 0] = np.where(rng.random((n, 8)) < 0.4, rng.integers(3, 6, (n, 8)), rng.integers(0, 10, (n, 8)))
    cars[:, :, 3] = speed * rng.choice([-1, 1], (n, 8))
    cars[:, :, 2] = rng.integers(0, speed + 1)
    return s | {"cars": cars, "pos": rng.choice([1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9], n), "move_timer": rng.choice([0, 0, 1, 2, 3], n)}


def asterix(s):
    e = s["entities"]
    there = e[:, :, 4] != 0  # the rest of a slot that is free has no meaning
    return {"PlayerX": s["player_x"], "PlayerY": s["player_y"], "SpawnSpeed": s["spawn_speed"], "SpawnTimer": s["spawn_timer"],
            "MoveSpeed": s["move_speed"], "MoveTimer": s["move_timer"], "RampTimer": s["ramp_timer"], "RampIndex": s["ramp_index"],
            "There": there, "X": e[:, :, 0] * there, "Right": (e[:, :, 2] != 0) & there, "Gold": (e[:, :, 3] != 0) & there, "Time": s["time"]}


def asterix_spread(rng, s, n):
    there = rng.random((n, 8)) < rng.choice([0.2, 0.5, 0.8, 1], n)[:, None]
    there[: n // 8] = True
    there[np.arange(n // 8), rng.integers(0, 8, n // 8)] = False  # all but one
    x = rng.integers(0, 10, (n, 8))
    player = rng.integers(0, 10, n)
    x = np.where(rng.random((n, 8)) < 0.4, np.clip(player[:, None] + rng.integers(-1, 2, (n, 8)), 0, 9), x)
    e = np.stack([x, np.broadcast_to(np.arange(1, 9), (n, 8)), rng.integers(0, 2, (n, 8)), rng.integers(0, 2, (n, 8)), np.ones((n, 8), int)], 2)
    index = rng.integers(0, 10, n)
    return s | {"entities": e * there[:, :, None], "player_x": player, "player_y": rng.integers(1, 9, n), "spawn_timer": rng.choice([0, 0, 1, 5], n),
                "move_timer": rng.choice([0, 0, 1, 4], n), "ramp_timer": rng.choice([-1, -1, 0, 50], n), "ramp_index": index,
                "spawn_speed": 10 - index, "move_speed": 5 - index // 2}


def invaders(s):
    return {"Pos": s["pos"], "Friendly": rows_of_bits(s["f_bullet_map"]), "Hostile": rows_of_bits(s["e_bullet_map"]), "Aliens": rows_of_bits(s["alien_map"]),
            "AlienDir": s["alien_dir"], "MoveInterval": s["enemy_move_interval"], "MoveTimer": s["alien_move_timer"],
            "AlienShotTimer": s["alien_shot_timer"], "RampIndex": s["ramp_index"], "ShotTimer": s["shot_timer"], "Time": s["time"]}


def invaders_spread(rng, s, n):
    def sparse(p):
        return (rng.random((n, 10, 10)) < np.reshape(p, (-1, 1, 1))).astype(float)
    aliens = np.zeros((n, 10, 10))
    lone = rng.random(n) < 0.3
    for i in range(n):
        if lone[i]:
            aliens[i, rng.integers(0, 10), rng.integers(0, 10)] = 1
        else:
            y, x = rng.integers(0, 7), rng.integers(0, 5)
            aliens[i, y:y + 4, x:x + 6] = rng.random((4, 6))[: 10 - y] < rng.choice([0.1, 0.6, 1])
    return s | {"pos": rng.integers(0, 10, n), "f_bullet_map": sparse(rng.choice([0.02, 0.1, 0.3], n)), "e_bullet_map": sparse(rng.choice([0.02, 0.1], n)),
                "alien_map": aliens, "alien_dir": rng.choice([-1, 1], n), "enemy_move_interval": rng.integers(6, 13, n),
                "alien_move_timer": rng.choice([0, 0, 1, 5], n), "alien_shot_timer": rng.choice([0, 0, 1, 9], n), "shot_timer": rng.choice([0, 0, 1, 5], n),
                "ramp_index": rng.integers(0, 6, n)}


LISTS = {"f_bullets": ("Friendly", "f_bullet_count", 10), "e_bullets": ("Hostile", "e_bullet_count", 12), "e_fish": ("Fish", "e_fish_count", 24),
         "e_subs": ("Subs", "e_subs_count", 12), "divers": ("Divers", "divers_count", 6)}


def seaquest(s, after=False):
    """The lists in as many slots as ours have, one column each, of which the free ones are -1. Hostile bullets fill the last
    slots first, so that none is in the slot of a submarine that shoots. After a step they are in ascending order."""
    out = {"Oxygen": s["oxygen"], "X": s["sub_x"], "Y": s["sub_y"], "Right": s["sub_or"], "DiverCount": s["diver_count"], "SpawnSpeed": s["e_spawn_speed"],
           "SpawnTimer": s["e_spawn_timer"], "DiverTimer": s["d_spawn_timer"], "MoveSpeed": s["move_speed"], "RampIndex": s["ramp_index"],
           "ShotTimer": s["shot_timer"], "Surface": s["surface"], "Time": s["time"]}
    for theirs, (ours, count, slots) in LISTS.items():
        k = np.asarray(s[count])
        a = np.full((len(k), slots, s[theirs].shape[2]), -1)
        assert k.max() <= slots, (theirs, k.max())
        for i in range(len(k)):
            rows = [tuple(row) for row in np.asarray(s[theirs][i, : k[i]])]
            a[i, : k[i]] = np.reshape(sorted(rows) if after else rows, (k[i], a.shape[2]))
        if ours == "Hostile" and not after:
            a = a[:, ::-1]
        out[ours] = np.swapaxes(a, 1, 2)
    return out


def seaquest_after(s):
    return seaquest(s, after=True)


def seaquest_spread(rng, s, n):
    out = dict(s)
    x = rng.integers(0, 10, n)
    right = rng.random(n) < 0.5
    out |= {"sub_x": np.where(right, np.maximum(x, 1), np.minimum(x, 8)), "sub_y": rng.choice([0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8], n), "sub_or": right,
            "oxygen": rng.choice([0, 0, 1, 2, 19, 20, 100, 199, 200], n), "diver_count": rng.choice([0, 0, 1, 2, 5, 6, 6], n), "surface": rng.random(n) < 0.3,
            "ramp_index": rng.integers(0, 6, n), "e_spawn_speed": rng.integers(1, 21, n), "move_speed": rng.integers(2, 6, n),
            "e_spawn_timer": rng.choice([0, 0, 1, 10], n), "d_spawn_timer": rng.choice([0, 0, 1, 10], n), "shot_timer": rng.choice([0, 0, 1, 5], n)}
    most = {"f_bullets": 2, "e_bullets": 5, "e_fish": 6, "e_subs": 4, "divers": 3}
    for name, (_, count, _) in LISTS.items():
        a = np.zeros_like(s[name])
        k = rng.integers(0, most[name] + 1, n)
        for i in range(n):
            for j in range(k[i]):
                ex, ey = rng.integers(0, 10), rng.integers(1, 9)
                if rng.random() < 0.5:  # near the submarine
                    ex, ey = np.clip(out["sub_x"][i] + rng.integers(-2, 3), 0, 9), np.clip(out["sub_y"][i] + rng.integers(0, 2), 1, 8)
                row = [ex, ey, rng.integers(0, 2), rng.choice([0, 0, 1, 4]), rng.choice([0, 0, 1, 9])]
                a[i, j] = row[: a.shape[2]]
        out[name], out[count] = a, k
    return out


# --- bsuite and miscellaneous --------------------------------------------------------------------------------------

def catch_spread(rng, s, n):
    return s | {"ball_x": rng.integers(0, 5, n), "ball_y": rng.integers(0, 9, n), "paddle_x": rng.integers(0, 5, n)}


def deep_sea_spread(rng, s, n):
    row = rng.integers(0, 8, n)
    return s | {"row": row, "column": rng.choice([0, 1, 3, 5, 6, 7, 7], n), "action_mapping": rng.integers(0, 2, (n, 8, 8)), "time": row}


def memory_spread(rng, s, n):
    return s | {"context": rng.integers(0, 2, (n, 1)), "time": np.where(rng.random(n) < 0.8, rng.integers(0, 6, n), rng.integers(995, 1000, n))}


def umbrella_spread(rng, s, n):
    return s | {"need_umbrella": rng.integers(0, 2, n), "has_umbrella": rng.integers(0, 2, n),
                "time": np.where(rng.random(n) < 0.8, rng.integers(0, 10, n), rng.integers(95, 100, n))}


def discounting_spread(rng, s, n):
    time = np.where(rng.random(n) < 0.7, rng.choice([0, 1, 2, 3, 9, 10, 29, 30, 31, 99], n), rng.integers(0, 100, n))
    return s | {"context": np.where(time == 0, -1, rng.integers(0, 5, n)), "time": time}


def rooms(s):
    return {"Y": s["pos"][:, 0], "X": s["pos"][:, 1], "GoalY": s["goal"][:, 0], "GoalX": s["goal"][:, 1], "Time": s["time"]}


def rooms_spread(rng, s, n):
    free = np.asarray(gymnax.make("FourRooms-misc")[0].coords)
    pos = free[rng.integers(0, len(free), n)]
    near = pos + rng.choice([-1, 0, 1], (n, 2))
    inside = (free[None] == near[:, None]).all(2).any(1)
    goal = np.where((inside & (rng.random(n) < 0.6))[:, None], near, free[rng.integers(0, len(free), n)])
    return s | {"pos": pos, "goal": goal}


def maze(s):
    return {"Y": s["pos"][:, 0], "X": s["pos"][:, 1], "GoalY": s["goal"][:, 0], "GoalX": s["goal"][:, 1], "LastAction": s["last_action"],
            "LastReward": s["last_reward"], "Time": s["time"].astype(np.int32)}


def maze_spread(rng, s, n):
    free = np.asarray(gymnax.make("MetaMaze-misc")[0].coords)
    pos = free[rng.integers(0, len(free), n)]
    near = pos + rng.choice([-1, 0, 1], (n, 2))
    inside = (free[None] == near[:, None]).all(2).any(1)
    goal = np.where((inside & (rng.random(n) < 0.6))[:, None], near, free[rng.integers(0, len(free), n)])
    return s | {"pos": pos, "goal": goal, "last_action": rng.integers(0, 4, n), "last_reward": rng.choice([0, 10, -0.5], n)}


def bandit(s):
    return {"First": s["reward_probs"][:, 0].astype(np.float32), "LastAction": s["last_action"], "LastReward": s["last_reward"], "Time": s["time"].astype(np.int32)}


def pong_spread(rng, s, n):
    ball = np.stack([rng.integers(-6, 33, n), np.where(rng.random(n) < 0.6, rng.choice([0, 1, 2, 3, 36, 37, 38, 39], n), rng.integers(0, 40, n))], -1)
    near = rng.random(n) < 0.7
    paddles = np.where(near[:, None], np.clip(ball[:, :1] + rng.integers(-4, 5, (n, 2)), 2, 27), rng.integers(2, 28, (n, 2)))
    return s | {"ball_position": ball, "paddle_centers": paddles, "last_ball_position": ball,
                "ball_velocity": np.stack([rng.integers(-3, 4, n), rng.choice([-1, 1], n)], -1)}


def robot_spread(rng, s, n):
    near = s["goal"] + rng.uniform(-0.3, 0.3, (n, 2))
    return s | {"pos": np.where((rng.random(n) < 0.5)[:, None], near, rng.uniform(-1, 1, (n, 2)))}


def reacher_spread(rng, s, n):
    return s | {"angles": rng.uniform(-6, 6, (n, 2)), "angle_vels": rng.uniform(-5, 5, (n, 2)), "goal_xy": rng.uniform(-2, 2, (n, 2))}


def swimmer_spread(rng, s, n):
    xy = rng.uniform(-2, 2, (n, 2))
    near = rng.random((n, 5, 1)) < 0.3
    return s | {"xy": xy, "xy_vel": rng.uniform(-2, 2, (n, 2)), "goal_xy": np.where(rng.random((n, 1)) < 0.5, xy + rng.uniform(-1, 1, (n, 2)), rng.uniform(-1, 1, (n, 2))),
                "urchin_xys": np.where(near, xy[:, None] + rng.uniform(-0.3, 0.3, (n, 5, 2)), rng.uniform(-1, 1, (n, 5, 2)))}


for own in (deep_sea_spread, memory_spread, umbrella_spread, discounting_spread):
    own.times = True  # they choose the times themselves


def near_limit(rng, n, limit):
    return np.where(rng.random(n) < 0.3, rng.integers(limit - 3, limit, n), rng.integers(0, limit, n))


MAZE_PARAMETERS = {"Reward": "reward", "Punishment": "punishment", "NormalizeTime": "normalize_time"}
DEEP_SEA = renamed(Row="row", Column="column", Mapping="action_mapping", Time="time")
DEEP_SEA_PARAMETERS = {"Deterministic": "deterministic", "SampleMapping": "sample_action_map", "RandomizeActions": "randomize_actions", "MoveCost": "unscaled_move_cost"}
ROOMS_PARAMETERS = {"FailProb": "fail_prob", "RandomStart": "resample_init_pos", "RandomGoal": "resample_goal_pos"}
ROBOT = renamed(Place="pos", Goal="goal", LastAction="last_action", LastReward="last_reward", Goals="goals_reached", Time="time")
ROBOT_PARAMETERS = {"MaxForce": "max_force", "CircleRadius": "circle_radius", "GoalRadius": "goal_radius", "DenseReward": "dense_reward", "CenterInit": "center_init"}
GAMES = [
    # family, our file, gymnax's id, fields, spread (None: times alone), parameters (ours: theirs), changed parameters (theirs: value)
    ("minatar", "Breakout-MinAtar-v1", "Breakout-MinAtar", breakout, breakout_spread, {}, {}),
    ("minatar", "Freeway-MinAtar-v1", "Freeway-MinAtar", freeway, freeway_spread, {"PlayerSpeed": "player_speed"}, {}),
    ("minatar", "Asterix-MinAtar-v1", "Asterix-MinAtar", asterix, asterix_spread,
     {"Ramping": "ramping", "RampInterval": "ramp_interval", "SpawnSpeed": "init_spawn_speed", "MoveInterval": "init_move_interval"}, {}),
    ("minatar", "SpaceInvaders-MinAtar-v1", "SpaceInvaders-MinAtar", invaders, invaders_spread,
     {"ShotCoolDown": "shot_cool_down", "MoveInterval": "enemy_move_interval", "ShotInterval": "enemy_shot_interval"}, {}),
    ("minatar", "Seaquest-MinAtar-v1", "Seaquest-MinAtar", seaquest, seaquest_spread,
     {"Ramping": "ramping", "SpawnSpeed": "init_spawn_speed", "MoveInterval": "init_move_interval", "MaxOxygen": "max_oxygen",
      "DiverSpawnSpeed": "diver_spawn_speed", "ShotCoolDown": "shot_cool_down", "EnemyShotInterval": "enemy_shot_interval",
      "DiverMoveInterval": "diver_move_interval"}, {}),
    ("small", "Catch-bsuite-v1", "Catch-bsuite", renamed(BallX="ball_x", BallY="ball_y", PaddleX="paddle_x", Time="time"), catch_spread, {}, {}),
    ("small", "DeepSea-bsuite-v1", "DeepSea-bsuite", DEEP_SEA, deep_sea_spread, DEEP_SEA_PARAMETERS, {}),
    ("small", "DeepSea-bsuite-v1-stochastic", "DeepSea-bsuite", DEEP_SEA, deep_sea_spread, DEEP_SEA_PARAMETERS, {"deterministic": False, "sample_action_map": True}),
    ("small", "MemoryChain-bsuite-v1", "MemoryChain-bsuite", lambda s: {"Context": s["context"][:, 0], "Time": s["time"]}, memory_spread, {"MemoryLength": "memory_length"}, {}),
    ("small", "UmbrellaChain-bsuite-v1", "UmbrellaChain-bsuite", renamed(Need="need_umbrella", Has="has_umbrella", Time="time"), umbrella_spread,
     {"ChainLength": "chain_length"}, {}),
    ("small", "DiscountingChain-bsuite-v1", "DiscountingChain-bsuite", renamed(Context="context", Time="time"), discounting_spread,
     {"RewardSteps": "reward_timestep", "OptimalReturn": "optimal_return"}, {}),
    ("small", "FourRooms-misc-v1", "FourRooms-misc", rooms, rooms_spread, ROOMS_PARAMETERS, {}),
    ("small", "FourRooms-misc-v1-random", "FourRooms-misc", rooms, rooms_spread, ROOMS_PARAMETERS, {"resample_init_pos": True, "resample_goal_pos": True}),
    ("small", "MetaMaze-misc-v1", "MetaMaze-misc", maze, maze_spread, MAZE_PARAMETERS, {}),
    ("small", "MetaMaze-misc-v1-normalized", "MetaMaze-misc", maze, maze_spread, MAZE_PARAMETERS, {"normalize_time": True, "punishment": -0.5}),
    ("small", "BernoulliBandit-misc-v1", "BernoulliBandit-misc", bandit, None, {"RewardProb": "reward_prob"}, {}),
    ("small", "GaussianBandit-misc-v1", "GaussianBandit-misc", renamed(Mu="mu", LastReward="last_reward", LastAction="last_action", Time="time"), None,
     {"Mean": "mean_mu", "Spread": "sigma_p", "Noise": "sigma_l"}, {}),
    ("small", "SimpleBandit-bsuite-v1", "SimpleBandit-bsuite", renamed(Rewards="rewards", Regret="total_regret", Time="time"), None, {}, {}),
    ("mnist", "MNISTBandit-bsuite-v1", "MNISTBandit-bsuite", renamed(Label="correct_label", Regret="regret", Time="time"), None, {"OptimalReturn": "optimal_return"}, {}),
    ("small", "PointRobot-misc-v1", "PointRobot-misc", ROBOT, robot_spread, ROBOT_PARAMETERS, {}),
    ("small", "PointRobot-misc-v1-dense", "PointRobot-misc", ROBOT, robot_spread, ROBOT_PARAMETERS, {"dense_reward": True, "center_init": True}),
    ("small", "FrozenLake-misc-v1", "FrozenLake-misc", renamed(Position="position", Time="time"), lambda rng, s, n: s | {"position": rng.integers(0, 16, n)}, {}, {}),
    ("small", "Pong-misc-v1", "Pong-misc", renamed(Paddles="paddle_centers", Ball="ball_position", LastBall="last_ball_position", Velocity="ball_velocity", Time="time"),
     pong_spread, {"MaxBallSpeed": "ball_max_y_speed", "PaddleSpeed": "paddle_y_speed", "BallSpeed": "ball_x_speed", "Follows": "use_ai_policy"}, {}),
    ("small", "Reacher-misc-v1", "Reacher-misc", renamed(Angles="angles", AngleVels="angle_vels", Goal="goal_xy", Time="time"), reacher_spread,
     {"TorqueScale": "torque_scale", "Dt": "dt"}, {}),
    ("small", "Swimmer-misc-v1", "Swimmer-misc", renamed(Urchins="urchin_xys", Place="xy", Velocity="xy_vel", Goal="goal_xy", Time="time"), swimmer_spread, {"Dt": "dt"}, {}),
]


# What is written of the states after a step where it is not all: what a step may change (the observation has the rest).
AFTER = {"Seaquest-MinAtar": seaquest_after,
         "Reacher-misc": renamed(Angles="angles", AngleVels="angle_vels", Time="time"), "Swimmer-misc": renamed(Place="xy", Velocity="xy_vel", Time="time"),
         "PointRobot-misc": renamed(Place="pos", Goals="goals_reached", Time="time"), "SimpleBandit-bsuite": renamed(Regret="total_regret", Time="time"),
         "GaussianBandit-misc": renamed(LastAction="last_action", Time="time"), "Pong-misc": renamed(Paddles="paddle_centers", Ball="ball_position", Velocity="ball_velocity", Time="time")}


def pictures():
    """40 pictures of 6 x 5 pixels instead of MNIST's, which envs/mnist's test makes, too. gymnax reads bytes as int8; these are uint8."""
    i, r, c = np.meshgrid(np.arange(40), np.arange(6), np.arange(5), indexing="ij")
    return ((37 * i + 11 * r + 5 * c * c) % 256).astype(np.uint8), (3 * np.arange(40) % 10).astype(np.uint8)


load_mnist.load_mnist = lambda: (pictures(), None)


def as_dict(state):
    return {f: np.asarray(getattr(state, f)) for f in state.__dataclass_fields__}


def actions(env, params, rng, n):
    space = env.action_space(params)
    if hasattr(space, "n"):
        return rng.integers(0, space.n, n).astype(np.int32)
    return rng.uniform(-1.5, 1.5, (n,) + space.shape).astype(np.float32)


def encoded(fields):
    return {f: encode(small(v)) for f, v in fields.items()}


def observations(obs):
    obs = np.asarray(obs)
    flat = obs.reshape(len(obs), -1)
    if flat.shape[1] > 8 and ((flat == 0) | (flat == 1)).all():
        return {"obs": encode(np.packbits(flat != 0, axis=1)), "packed": True}
    return {"obs": encode(obs.astype(np.float32)), "packed": False}


def main():
    out = out_dir(__doc__)
    only = os.environ.get("ONLY", "")  # to make some files alone
    for family, ours, theirs, fields, spread, names, changed in GAMES:
        if only not in ours:
            continue
        env, params = gymnax.make(theirs)
        params = params.replace(**changed)
        limit = int(params.max_steps_in_episode)
        rng = np.random.default_rng(2026)

        reset = jax.jit(jax.vmap(lambda k: env.reset_env(k, params)))
        auto = jax.jit(jax.vmap(lambda k, s, a: env.step(k, s, a, params)))
        _, state = reset(jax.random.split(jax.random.key(0), LANES))
        kinds = jax.tree.map(lambda a: a.dtype, state)
        met = []
        for i in range(200):
            met.append(as_dict(state))
            _, state, *_ = auto(jax.random.split(jax.random.key(100 + i), LANES), state, actions(env, params, rng, LANES))
            state = jax.tree.map(lambda a, d: a.astype(d), state, kinds)
        met = {f: np.concatenate([m[f] for m in met]) for f in met[0]}
        pick = rng.permutation(len(met["time"]))[:ROWS]
        states = {f: np.array(v[pick]) for f, v in met.items()}
        half = ROWS // 2
        loose = {f: v[half:] for f, v in states.items()}
        if spread:
            loose = spread(rng, loose, half)
        if not getattr(spread, "times", False):
            loose["time"] = near_limit(rng, half, limit)
        states = {f: np.concatenate([v[:half], np.asarray(loose[f])]).astype(v.dtype) for f, v in states.items()}

        if theirs in ("Reacher-misc", "Swimmer-misc", "PointRobot-misc"):  # numbers with few bits make small files
            states = {f: (np.round(v * 32) / 32).astype(v.dtype) if v.dtype.kind == "f" else v for f, v in states.items()}
        batch = type(state)(**{f: jnp.asarray(v, getattr(kinds, f)) for f, v in states.items()})
        action = actions(env, params, rng, ROWS)
        keys = jax.random.split(jax.random.key(1), ROWS)

        @jax.jit
        @jax.vmap
        def raw(key, state, action):
            obs, after, reward, terminated, _ = env.step_env(key, state, action, params)
            return after, obs, jnp.float32(reward), terminated, env.is_truncated(after, params)

        after, obs, reward, terminated, truncated = raw(keys, batch, jnp.asarray(action))
        keys_r = jax.random.split(jax.random.key(3), RESETS)
        obs_r, state_r = reset(keys_r)
        numbers = {name: getattr(params, f) for name, f in ({"MaxSteps": "max_steps_in_episode"} | names).items()}
        path = os.path.join(out, family, "testdata", ours + ".json.gz")
        write(path, {
            "versions": versions("gymnax"), "env": theirs,
            "parameters": {name: encode(small(int(v) if name == "MaxSteps" else v)) for name, v in numbers.items()},
            "changed": [name for name, f in names.items() if f in changed],
            "raw": {"state": encoded(fields(as_dict(batch))), "action": encode(small(action)), "next": encoded(AFTER.get(theirs, fields)(as_dict(after)))}
            | observations(obs) | {"reward": encode(np.asarray(reward)), "terminated": encode(np.asarray(terminated, bool)), "truncated": encode(np.asarray(truncated, bool))},
            "reset": {"key": encode(jax.random.key_data(keys_r)), "state": encoded(fields(as_dict(state_r)))} | observations(obs_r)})
        print(f"  terminated {int(np.sum(terminated))}, truncated {int(np.sum(truncated))}, rewards {np.unique(np.round(np.asarray(reward), 2))[:12]}")


if __name__ == "__main__":
    main()
