"""Steps of a task of Gymnasium by MuJoCo's C code with one thread, without what is observed and rewarded.

usage: mujoco_steps.py TASK MEMBERS STEPS MOST     TASK: such as HalfCheetah, the v5 model
At most MOST members are run, each after the other; seconds are those of MEMBERS. Controls are sines of the step, the member and the
actuator, as in the suite bodies. The result is the mean of the last velocities.
"""
import sys
import numpy as np
import gymnasium, mujoco
from mujoco import rollout
from serve import serve

task, members, steps, most = sys.argv[1], *map(int, sys.argv[2:5])
mujoco.set_mju_user_warning(lambda text: None)  # else it writes a file of them
env = gymnasium.make(task + "-v5").unwrapped
model, skip = env.model, env.frame_skip
few = min(members, most)
data = mujoco.MjData(model)
kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
first = np.empty(mujoco.mj_stateSize(model, kind))
mujoco.mj_getState(model, data, first, kind)
t, member, actuator = np.ogrid[:steps, :few, :model.nu]
controls = np.repeat(np.sin(.3 * t + .37 * member + 2.4 * actuator).transpose(1, 0, 2), skip, axis=1)
starts = np.tile(first, (few, 1))
speed = 1 + model.nq


def run():
    states, _ = rollout.rollout(model, data, starts, controls)
    return np.mean(states[:, -1, speed:speed + model.nv])


serve(run, per=few / members)
