"""Gymnasium's MuJoCo tasks for envs/bodies: OUTPUT_DIR/mujoco4.json.gz or mujoco3.json.gz, by the engine that runs it.

{"versions": {...}, "tasks": [T]}; T is one of the eleven v5 tasks, or of two more:
  "name"   the task, or MixedEuler, MixedRK4: a model of what the tasks do not have, which has states only
  "model"  the compiled model, as the fields of bodies.Model in Go
  "skip"   substeps of a step
  "weights" [bodies], "dofs" [dofs]: MuJoCo's inverse weights at qpos0, the translational ones of bodies
  "qpos" [N, nq], "qvel" [N, nv]: states, and "control" float32 [N, nu], random
  "start"  int32 [S]: the states s that a step of the environment leads from, to state s + 1. The solver is Newton's with a tolerance of 1e-15, and that of
           convex collisions is 1e-12.
  "before" [S, 2], "reward" [S], "terminated" [S]: where the reward measures from (Ant, Humanoid), and what the step returned
  "contacts" uint8 [S], "rows" uint8 [S]: contacts and rows of constraints after the step
  "observed" int32 [O], "observation" [O, ...]: steps, and what was observed after them
  "solver" {"median": x, "worst": y}: how far the velocities after a step, each relative to 1 + |v|, are from those of the solver that the model
  asks for (PGS with 50 iterations for Humanoid), over all steps
Every array is float64 unless said. A state has no warm start: the optimum of a step does not depend on it.
"""
import os
import sys
import warnings

import gymnasium
import mujoco
import numpy as np

from common import encode, out_dir, versions_of, write

TASKS = ["HalfCheetah", "Hopper", "Walker2d", "Ant", "Humanoid", "HumanoidStandup", "Swimmer", "Reacher", "Pusher",
         "InvertedPendulum", "InvertedDoublePendulum"]
JOINTS = ["free", "ball", "slide", "hinge"]
GEOMS = ["plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"]
ENGINE = int(mujoco.__version__.split(".")[0])
# Engine 3 differs from 4 by two rules, so it needs fewer states.
EPISODES, STEPS, EVERY = (8, 25, 8) if ENGINE >= 4 else (4, 16, 8)


def first(x):
    return float(np.ravel(x)[0])


def pairs(m):
    """The pairs of geoms that may touch (MuJoCo's filters, static)."""
    out = []
    parents = not m.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
    excluded = set(m.exclude_signature.tolist())
    for a in range(m.ngeom):
        for b in range(a + 1, m.ngeom):
            i, j = int(m.geom_bodyid[a]), int(m.geom_bodyid[b])
            wa, wb = m.body_weldid[i], m.body_weldid[j]
            pa, pb = m.body_weldid[m.body_parentid[wa]], m.body_weldid[m.body_parentid[wb]]
            if wa == wb or (parents and wa != 0 and wb != 0 and (wa == pb or wb == pa)):
                continue
            if not (m.geom_contype[a] & m.geom_conaffinity[b] or m.geom_contype[b] & m.geom_conaffinity[a]):
                continue
            if (i << 16) + j in excluded or (j << 16) + i in excluded:
                continue
            out.append({"Geoms": [a, b]})
    return out


def model(m, pairs_too=False):
    def bodies():
        for b in range(m.nbody):
            yield {"Name": m.body(b).name, "Parent": int(m.body_parentid[b]), "Pos": m.body_pos[b], "Quat": m.body_quat[b],
                   "Com": m.body_ipos[b], "ComQuat": m.body_iquat[b], "Mass": m.body_mass[b], "Inertia": m.body_inertia[b]}

    def joints():
        for j in range(m.njnt):
            q, v = m.jnt_qposadr[j], m.jnt_dofadr[j]
            out = {"Name": m.joint(j).name, "Type": JOINTS[m.jnt_type[j]], "Body": int(m.jnt_bodyid[j]), "Pos": m.jnt_pos[j],
                   "Axis": m.jnt_axis[j], "Stiffness": first(m.jnt_stiffness[j]), "Damping": first(m.dof_damping[v]),
                   "Armature": m.dof_armature[v]}
            if m.jnt_type[j] >= 2:
                out |= {"Ref": m.qpos0[q], "SpringRef": m.qpos_spring[q]}
            if m.jnt_limited[j]:
                out |= {"Limited": True, "Range": m.jnt_range[j], "Margin": m.jnt_margin[j], "Solref": m.jnt_solref[j],
                        "Solimp": m.jnt_solimp[j]}
            yield out

    def geoms():
        for g in range(m.ngeom):
            yield {"Name": m.geom(g).name, "Type": GEOMS[m.geom_type[g]], "Body": int(m.geom_bodyid[g]), "Pos": m.geom_pos[g],
                   "Quat": m.geom_quat[g], "Size": m.geom_size[g], "Friction": m.geom_friction[g], "Condim": int(m.geom_condim[g]),
                   "Margin": m.geom_margin[g], "Priority": int(m.geom_priority[g]), "Solref": m.geom_solref[g], "Solimp": m.geom_solimp[g], "Solmix": m.geom_solmix[g]}

    def actuators():
        for a in range(m.nu):
            out = {"Name": m.actuator(a).name, "Joint": int(m.actuator_trnid[a][0]), "Gear": m.actuator_gear[a][0],
                   "Gain": m.actuator_gainprm[a][0], "Bias": m.actuator_biasprm[a][:3]}
            if m.actuator_ctrllimited[a]:
                out |= {"ControlLimited": True, "ControlRange": m.actuator_ctrlrange[a]}
            yield out

    def sites():
        for s in range(m.nsite):
            yield {"Name": m.site(s).name, "Body": int(m.site_bodyid[s]), "Pos": m.site_pos[s]}

    if m.actuator_forcelimited.any():
        def actuators(plainly=actuators):
            for a, out in enumerate(plainly()):
                yield out | {"ForceLimited": bool(m.actuator_forcelimited[a]), "ForceRange": m.actuator_forcerange[a]}

    o = m.opt
    assert (m.geom_gap == 0).all() and (m.npair == 0 or pairs_too)
    return plain({"Bodies": bodies(), "Joints": joints(), "Geoms": geoms(), "Sites": sites(), "Actuators": actuators(), "Pairs": pairs(m),
                  "Timestep": o.timestep, "Integrator": ["Euler", "RK4"][o.integrator], "Gravity": o.gravity, "Density": o.density,
                  "Viscosity": o.viscosity, "Impratio": o.impratio})


def plain(x):
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, np.ndarray):
        return x.tolist()
    if isinstance(x, np.generic):
        return x.item()
    if hasattr(x, "__next__") or isinstance(x, list):
        return [plain(v) for v in x]
    return x


def place(task, e):
    """Where the reward of a step measures from."""
    m, d = e.model, e.data
    if task == "Ant":
        return d.body(1).xpos[:2].copy()
    if task == "Humanoid":
        return (m.body_mass[:, None] * d.xipos).sum(0)[:2] / m.body_mass.sum()
    return np.zeros(2)


def reach(e, rng, draw):
    """Pusher's arm comes down, and the object lies within its reach: random controls alone seldom touch it."""
    m, d = e.model, e.data
    lift = np.eye(m.nu)[1] * 2
    for t in range(15):
        e.step(lift if t < 8 else draw())
    fingers = [g for g in range(m.ngeom) if m.geom_type[g] == 3 and m.geom_contype[g]]
    object = m.body("object").geomadr[0]
    tip = d.body("tips_arm").xpos
    while True:
        for _ in range(200):
            d.qpos[7:9] = tip[1] + 0.05 + rng.uniform(-0.2, 0.2), tip[0] - 0.45 + rng.uniform(-0.1, 0.3)
            mujoco.mj_forward(m, d)
            if 0.005 < min(mujoco.mj_geomDistance(m, d, g, object, 1, None) for g in fingers) < 0.03:
                return
        e.step(draw())  # it is too high


def tighten(o):
    o.solver, o.tolerance, o.iterations, o.ls_tolerance, o.ls_iterations = mujoco.mjtSolver.mjSOL_NEWTON, 1e-15, 400, 1e-4, 200
    o.ccd_tolerance = 1e-12


def record(task, number):
    e = gymnasium.make(task + "-v5").unwrapped
    m, d = e.model, e.data
    out = {"name": task, "model": model(m), "skip": e.frame_skip, "weights": encode(m.body_invweight0[:, 0]),
           "dofs": encode(m.dof_invweight0)}
    asked = mujoco.MjModel.from_xml_path(e.fullpath)
    tighten(m.opt)
    rng = np.random.default_rng(number)
    lo, hi = m.actuator_ctrlrange.T
    # Controls have 65 values each, so that they are exact in float32 and compress.
    draw = lambda: np.float32(lo + (hi - lo) * rng.integers(0, 65, m.nu) / 64)
    qpos, qvel, control, start, before, reward, over, contacts, rows, observed, seen, apart = ([] for _ in range(12))

    def keep(u):
        qpos.append(d.qpos.copy()), qvel.append(d.qvel.copy()), control.append(u)

    for episode in range(EPISODES):
        e.reset(seed=1000 * number + episode)
        for _ in range(0 if task == "Pusher" else episode * 10):  # later episodes begin later: bodies lie on the ground
            e.step(draw())
        if task == "Pusher":
            reach(e, rng, draw)
        for _ in range(STEPS):
            u = draw()
            keep(u)
            start.append(len(qpos) - 1), before.append(place(task, e))
            other = mujoco.MjData(asked)
            other.qpos[:], other.qvel[:], other.qacc_warmstart[:], other.ctrl[:] = d.qpos, d.qvel, d.qacc_warmstart, u
            obs, r, terminated, _, _ = e.step(u)
            mujoco.mj_step(asked, other, nstep=e.frame_skip)
            apart.append(np.max(np.abs(other.qvel - d.qvel) / (1 + np.abs(d.qvel))))
            reward.append(r), over.append(terminated), contacts.append(d.ncon), rows.append(d.nefc)
            if len(start) % EVERY == 0:
                observed.append(len(start) - 1), seen.append(obs)
        keep(np.zeros(m.nu, np.float32))
    out |= {"solver": {"median": float(np.median(apart)), "worst": float(np.max(apart))}, "qpos": encode(qpos), "qvel": encode(qvel),
            "control": encode(control), "start": encode(np.int32(start)), "before": encode(before), "reward": encode(np.float64(reward)),
            "terminated": encode(np.bool_(over)), "contacts": encode(np.uint8(contacts)), "rows": encode(np.uint8(rows)),
            "observed": encode(np.int32(observed)), "observation": encode(seen)}
    print(f"{task}: {np.mean(np.array(contacts) > 0):.0%} of steps end with contacts, {max(contacts)} at once, {max(rows)} rows; "
          f"the model's own solver is {out['solver']} apart; {sum(over)} ends", file=sys.stderr)
    return out


# What the tasks do not have: several trees, friction between bodies, tilted planes, static geoms, other actuators, priorities,
# other forms of solref and solimp.
MIXED = """<mujoco><option timestep=".004" integrator="INTEGRATOR" density="3" viscosity=".02"/>
<default><geom condim="3" solimp=".5 .9 .02 .3 3" solmix="2" density="600"/></default>
<worldbody>
 <geom name="floor" type="plane" size="9 9 1" euler="8 -5 0" solmix="1" friction=".7"/>
 <body pos=".5 0 .1"><geom name="post" type="capsule" size=".05 .3"/></body>
 <body name="box" pos="0 0 .5"><freejoint/>
  <geom name="trunk" type="capsule" size=".08 .15" euler="0 80 10"/>
  <body pos=".2 0 0"><joint name="hip" axis="0 1 .3" range="-60 70" limited="true" stiffness="3" springref="20" damping=".2"
    margin=".02" solreflimit="-400 -12"/>
   <geom name="thigh" type="capsule" size=".05" fromto="0 0 0 .2 .05 -.1"/>
   <body pos=".2 .05 -.1"><joint name="knee" axis="0 1 0" ref="15" armature=".02"/><joint name="push" type="slide" axis="1 0 -1"
     range="-.05 .1" limited="true"/>
    <geom name="foot" type="sphere" size=".07" priority="1" friction=".4" solref=".03 .8"/></body></body>
 </body>
 <body name="ball" pos=".1 .1 .9"><freejoint/><geom name="ball" type="sphere" size=".1" margin=".01"/></body>
 <body name="stick" pos="-.2 0 .7"><freejoint/><geom name="stick" type="capsule" size=".06 .12" euler="90 0 20" margin=".02"/></body>
</worldbody>
<contact><exclude body1="box" body2="stick"/></contact>
<actuator><position joint="hip" kp="20" kv="1" gear="1.5" forcerange="-6 6" ctrlrange="-1 1"/>
 <velocity joint="knee" kv="2" ctrlrange="-3 3"/><motor joint="push" gear="30" ctrlrange="-1 1"/></actuator></mujoco>"""


def mixed(integrator, number):
    """A task without an environment."""
    m = mujoco.MjModel.from_xml_string(MIXED.replace("INTEGRATOR", integrator))
    d = mujoco.MjData(m)
    out = {"name": "Mixed" + integrator, "model": model(m), "skip": 3, "weights": encode(m.body_invweight0[:, 0]),
           "dofs": encode(m.dof_invweight0)}
    tighten(m.opt)
    rng = np.random.default_rng(number)
    lo, hi = m.actuator_ctrlrange.T
    qpos, qvel, control, start = [], [], [], []
    for _ in range(4):
        mujoco.mj_resetData(m, d)
        d.qvel[:] = rng.normal(size=m.nv)
        for step in range(33):
            u = np.float32(lo + (hi - lo) * rng.integers(0, 65, m.nu) / 64)
            if step % 3 == 0 and step >= 6:
                qpos.append(d.qpos.copy()), qvel.append(d.qvel.copy()), control.append(u), start.append(len(qpos) - 1)
            d.ctrl[:] = u
            mujoco.mj_step(m, d, nstep=3)
            if step % 3 == 0 and step >= 6:
                qpos.append(d.qpos.copy()), qvel.append(d.qvel.copy()), control.append(u)
    return out | {"qpos": encode(qpos), "qvel": encode(qvel), "control": encode(control), "start": encode(np.int32(start)),
                  "observed": encode(np.zeros(0, np.int32)), "observation": encode(np.zeros((0, 1)))}


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    folder = out_dir(__doc__)
    write(os.path.join(folder, f"mujoco{ENGINE}.json.gz"), {"versions": versions_of("mujoco", "gymnasium", "numpy"),
                                                            "tasks": [record(t, n) for n, t in enumerate(TASKS)] + [
                                                                mixed("Euler", 1), mixed("RK4", 2)]})
