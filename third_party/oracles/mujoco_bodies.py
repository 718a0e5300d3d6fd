"""Gymnasium's MuJoCo tasks for envs/bodies: OUTPUT_DIR/mujoco4.json.gz or mujoco3.json.gz, by the engine that runs it.

{"versions": {...}, "tasks": [T]}; T is one of the eleven v5 tasks:
  "name"   the task
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
    excluded = set(m.exclude_signature.tolist())
    for a in range(m.ngeom):
        for b in range(a + 1, m.ngeom):
            i, j = int(m.geom_bodyid[a]), int(m.geom_bodyid[b])
            wa, wb = m.body_weldid[i], m.body_weldid[j]
            pa, pb = m.body_weldid[m.body_parentid[wa]], m.body_weldid[m.body_parentid[wb]]
            if wa == wb or (wa != 0 and wb != 0 and (wa == pb or wb == pa)):
                continue
            if not (m.geom_contype[a] & m.geom_conaffinity[b] or m.geom_contype[b] & m.geom_conaffinity[a]):
                continue
            if (i << 16) + j in excluded or (j << 16) + i in excluded:
                continue
            out.append({"Geoms": [a, b]})
    return out


def model(m):
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
                   "Margin": m.geom_margin[g], "Solref": m.geom_solref[g], "Solimp": m.geom_solimp[g], "Solmix": m.geom_solmix[g]}

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

    o = m.opt
    assert (m.geom_gap == 0).all() and (m.geom_priority == 0).all() and m.npair == 0 and not m.actuator_forcelimited.any()
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


def record(task, number):
    e = gymnasium.make(task + "-v5").unwrapped
    m, d = e.model, e.data
    out = {"name": task, "model": model(m), "skip": e.frame_skip, "weights": encode(m.body_invweight0[:, 0]),
           "dofs": encode(m.dof_invweight0)}
    asked = mujoco.MjModel.from_xml_path(e.fullpath)
    o = m.opt
    o.solver, o.tolerance, o.iterations, o.ls_tolerance, o.ls_iterations = mujoco.mjtSolver.mjSOL_NEWTON, 1e-15, 400, 1e-4, 200
    o.ccd_tolerance = 1e-12
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


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    folder = out_dir(__doc__)
    write(os.path.join(folder, f"mujoco{ENGINE}.json.gz"), {"versions": versions_of("mujoco", "gymnasium", "numpy"),
                                                            "tasks": [record(t, n) for n, t in enumerate(TASKS)]})
