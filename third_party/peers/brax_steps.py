"""Steps of HalfCheetah of 0.05 seconds by Brax or by MJX, without what is observed and rewarded.

usage: brax_steps.py spring|generalized|mjx MEMBERS STEPS MOST     spring, generalized: Brax's model; mjx: Gymnasium's
At most MOST steps are run; seconds are those of STEPS. Controls are sines of the step, the member and the actuator, as in the suite
bodies. The result is the mean of the last velocities.
"""
import sys
from serve import serve_jax
import jax, jax.numpy as jnp
import mujoco

mujoco.set_mju_user_warning(lambda text: None)  # else it writes a file of them
how, members, steps, most = sys.argv[1], *map(int, sys.argv[2:5])
few = min(steps, most)
if how == "mjx":
    import gymnasium
    from mujoco import mjx
    env = gymnasium.make("HalfCheetah-v5").unwrapped
    model, actuators = mjx.put_model(env.model), env.model.nu
    first = mjx.make_data(env.model).replace(qpos=jnp.asarray(env.data.qpos, jnp.float32))

    def step(data, control):
        return jax.lax.scan(lambda d, _: (mjx.step(model, d), None), data.replace(ctrl=control), length=env.frame_skip)[0]

    speed = lambda data: data.qvel
else:
    from brax import envs
    env = envs.get_environment("halfcheetah", backend=how)
    actuators, first = env.action_size, env.pipeline_init(env.sys.init_q, jnp.zeros(env.sys.qd_size()))
    step, speed = env.pipeline_step, lambda state: state.qd


def run(member):
    phases = .37 * member + 2.4 * jnp.arange(actuators)
    last, _ = jax.lax.scan(lambda s, t: (step(s, jnp.sin(.3 * t + phases)), None), first, jnp.arange(few, dtype=jnp.float32))
    return speed(last)


serve_jax(lambda member: jnp.mean(jax.vmap(run)(member)), (jnp.arange(members, dtype=jnp.float32),), per=few / steps)
