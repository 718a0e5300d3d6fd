"""Transitions of gymnax 1.0.1's classic control environments for envs/classic, one file each: OUTPUT_DIR/<id>.json.gz.

The files are like those of gymnax_games.py, but for "auto":
  R  The first 1,200 rows are random play from resets; the rest are states spread over and beyond the bounds, at random
     times, with continuous actions up to 1.5 times the allowed size.
  A  64 rows of step, with auto-reset: "key" [rows, 2] as well; "obs" and "next" are those after the reset where the row
     ended, "final_obs" the observation before it.
Rows whose flags or values jump, or change a hundred times as much, when the state moves by 3e-6 are left out of R and A,
so that a tolerance of 1e-5 is fair.
"""
import os

import gymnax
import jax
import jax.numpy as jnp
import numpy as np

from common import encode, out_dir, versions, write

PLAYED, SPREAD, AUTO, RESETS = 1200, 800, 64, 64
# Half-widths of the box from which spread states are drawn, and the values near which a quarter of them lie.
BOXES = {
    "CartPole-v1": dict(x=(3.0, [2.4]), x_dot=(3.0, []), theta=(0.3, [0.20944]), theta_dot=(4.0, [])),
    "Acrobot-v1": dict(joint_angle1=(3.1, [3.1]), joint_angle2=(3.1, [3.1]), velocity_1=(12.0, [12.56]), velocity_2=(28.0, [28.27])),
    "MountainCar-v0": dict(position=(1.2, [0.5, 0.6, 1.2]), velocity=(0.07, [0.07, 0.0])),
    "MountainCarContinuous-v0": dict(position=(1.2, [0.45, 0.6, 1.2]), velocity=(0.07, [0.07, 0.0])),
    "Pendulum-v1": dict(theta=(10.0, [3.14159, 0.0]), theta_dot=(8.0, [8.0, 0.0]), last_u=(2.0, [])),
}


def as_dict(state):
    return {f: getattr(state, f) for f in state.__dataclass_fields__}


def actions(env, params, rng, n):
    space = env.action_space(params)
    if hasattr(space, "n"):
        return jnp.asarray(rng.integers(0, space.n, n), jnp.int32)
    high = float(np.max(space.high))
    return jnp.asarray(rng.uniform(-1.5 * high, 1.5 * high, (n, 1)), jnp.float32)


def spread(make, name, params, rng, n):
    limit = params.max_steps_in_episode
    fields = {}
    for field, (half, near) in BOXES[name].items():
        x = rng.uniform(-half, half, n)
        if near:
            close = rng.choice([-1, 1], n) * (rng.choice(near, n) + rng.choice([-1, 1], n) * rng.uniform(1e-4, 2e-2 * half, n))
            x = np.where(rng.random(n) < 0.25, close, x)
        fields[field] = jnp.asarray(x, jnp.float32)
    if "position" in fields:  # the car cannot be outside of its track
        fields["position"] = jnp.clip(fields["position"], -1.2, 0.6)
    time = np.where(rng.random(n) < 0.5, rng.integers(limit - 4, limit + 2, n), rng.integers(0, limit, n))
    return make(**fields, time=jnp.asarray(time, jnp.int32))


def played(env, params, key, acts):
    """States met in random play; one lane, restarted at every end."""
    _, state = env.reset(key, params)

    def step(carry, action):
        state, key = carry
        key, k = jax.random.split(key)
        state = jax.tree.map(lambda a, b: jnp.asarray(a, jnp.asarray(b).dtype), state, first)
        _, after, _, _, _, _ = env.step(k, state, action, params)
        return (jax.tree.map(lambda a, b: jnp.asarray(a, jnp.asarray(b).dtype), after, first), key), state

    first = jax.tree.map(lambda a: jnp.asarray(a, jnp.int32 if jnp.issubdtype(jnp.asarray(a).dtype, jnp.integer) else jnp.float32), state)
    return jax.lax.scan(step, (first, key), acts)[1]


def steady(f, rng, state, out):
    """Which rows keep their flags and nearly their values when every float of the state moves a little."""
    ok = np.ones(len(np.asarray(state.time)), bool)
    for _ in range(8):
        moved = jax.tree.map(
            lambda a: a + jnp.asarray(rng.choice([-3e-6, 3e-6], a.shape) * np.maximum(1, abs(np.asarray(a))), a.dtype)
            if jnp.issubdtype(a.dtype, jnp.floating) else a, state)
        for a, b in zip(jax.tree.leaves(out), jax.tree.leaves(f(moved))):
            a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
            # 3e-4 of 3e-6: a step that amplifies a hundredfold makes 1e-5 of float32's own rounding (1e-7), so that
            # gymnax is that far from the exact result itself (fast Acrobot swings). A jump is 1e-2 or more.
            ok &= (abs(a - b) <= 3e-4 * np.maximum(1, abs(a))).reshape(len(ok), -1).all(1)
    return ok


def ours(field):
    """Our name of one of gymnax's fields: "joint_angle1" is "JointAngle1"."""
    return "".join(part[:1].upper() + part[1:] for part in field.split("_"))


# Our names of parameters that follow no rule; "": derived, no parameter of ours, or a field of the environment itself.
NAMES = {"max_steps_in_episode": "MaxSteps", "masscart": "MassCart", "masspole": "MassPole", "theta_threshold_radians": "ThetaThreshold",
         "link_moi": "LinkMOI", "total_mass": "", "polemass_length": "", "available_torque": "", "link_length_2": "", "torque_noise_max": ""}


def table(obj, keep):
    return {ours(f): encode(np.asarray(v)[keep]) for f, v in obj.items()}


def main():
    out = out_dir(__doc__)
    for name in BOXES:
        env, params = gymnax.make(name)
        rng = np.random.default_rng(2026)
        state = played(env, params, jax.random.key(0), actions(env, params, rng, 2 * PLAYED))
        loose = spread(type(state), name, params, rng, 2 * SPREAD)
        both = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), state, loose)
        n = len(both.time)
        action = actions(env, params, rng, n)
        keys = jax.random.split(jax.random.key(1), n)

        def raw(state):
            def one(key, state, action):
                obs, after, reward, terminated, _ = env.step_env(key, state, action, params)
                return as_dict(after), obs, jnp.float32(reward), terminated, env.is_truncated(after, params)
            return jax.jit(jax.vmap(one))(keys, state, action)

        result = raw(both)
        ok = steady(raw, rng, both, result)
        keep = np.concatenate([np.flatnonzero(ok[:2 * PLAYED])[:PLAYED], 2 * PLAYED + np.flatnonzero(ok[2 * PLAYED:])[:SPREAD]])
        assert len(keep) == PLAYED + SPREAD, (name, len(keep))
        after, obs, reward, terminated, truncated = (jax.tree.map(lambda a: np.asarray(a)[keep], r) for r in result)
        assert terminated.any() == (name != "Pendulum-v1") and truncated.any() and not truncated.all()
        rows = {"state": table(as_dict(both), keep), "action": encode(np.asarray(action)[keep]),
                "next": {ours(f): encode(np.asarray(v, np.asarray(as_dict(both)[f]).dtype)) for f, v in after.items()},
                "obs": encode(obs), "reward": encode(reward), "terminated": encode(terminated), "truncated": encode(truncated)}

        last = keep[-AUTO:]
        keys_a = jax.random.split(jax.random.key(2), AUTO)
        auto = jax.vmap(lambda k, s, a: env.step(k, s, a, params))(keys_a, jax.tree.map(lambda a: a[last], both), action[last])
        obs_a, after_a, reward_a, term_a, trunc_a, info = auto
        every = slice(None)
        assert np.asarray(term_a | trunc_a).any() and not np.asarray(term_a | trunc_a).all()
        autos = {"key": encode(jax.random.key_data(keys_a)), "state": table(as_dict(both), last), "action": encode(np.asarray(action)[last]),
                 "next": table(as_dict(after_a), every), "obs": encode(obs_a), "reward": encode(np.float32(reward_a)),
                 "terminated": encode(term_a), "truncated": encode(trunc_a), "final_obs": encode(info["final_observation"])}

        keys_r = jax.random.split(jax.random.key(3), RESETS)
        obs_r, state_r = jax.vmap(lambda k: env.reset(k, params))(keys_r)
        resets = {"key": encode(jax.random.key_data(keys_r)), "state": table(as_dict(state_r), every), "obs": encode(obs_r)}

        names = {f: NAMES.get(f, ours(f)) for f in params.__dataclass_fields__}
        numbers = {name: encode(np.float32(getattr(params, f))) for f, name in names.items() if name}
        write(os.path.join(out, name + ".json.gz"), {
            "versions": versions("gymnax"), "env": name, "parameters": numbers, "changed": [], "raw": rows, "auto": autos,
            "reset": resets})
        print(f"  terminated {int(terminated.sum())}, truncated {int(truncated.sum())}, kept {ok.mean():.3f}")


main()
