"""Steps of MuJoCo from any models, for envs/bodies/mjcf: FOLDER/steps.json.gz, of all *.xml in FOLDER and its folders.

    mujoco_steps.py FOLDER              compiles and steps the models that are there
    mujoco_steps.py FOLDER N [SEED]     first writes N random models into FOLDER/random

{"versions": {...}, "models": [{"name": path, "error": what MuJoCo refuses, or "qpos", "qvel", "control", "start": rows
where steps begin, "contacts"}, ...]}; the row after a start has the state after one substep. Ten steps are from qpos0
and rest, ten from the first keyframe or after 60 steps, with random controls. The solver is run to the end.
States after which MuJoCo sets an unstable model back, or speeds pass 1,000, are left out.
"""
import os
import re
import sys

import mujoco
import numpy as np

from common import encode, versions_of, write
from mujoco_bodies import tighten

mujoco.set_mju_user_warning(lambda text: None)  # else it writes a file of them


def steps(m, rng):
    d = mujoco.MjData(m)
    tighten(m.opt)
    lo, hi = np.where(m.actuator_ctrllimited.astype(bool), m.actuator_ctrlrange.T, [[-1], [1]])
    qpos, qvel, control, start, contacts = [], [], [], [], []
    for later in range(2):
        mujoco.mj_resetData(m, d)
        if later and m.nkey:
            mujoco.mj_resetDataKeyframe(m, d, 0)
        for step in range(70 if later and not m.nkey else 10):
            u = np.float32(lo + (hi - lo) * rng.integers(0, 65, m.nu) / 64)
            d.ctrl[:] = u
            kept = not later or m.nkey or step >= 60
            if kept:
                d.qacc_warmstart[:] = 0
                start.append(len(qpos)), qpos.append(d.qpos.copy()), qvel.append(d.qvel.copy()), control.append(u)
            time = d.time
            mujoco.mj_step(m, d)
            if d.time <= time or np.abs(d.qvel).max(initial=0) > 1e3:  # it is unstable, and was set back
                if kept:
                    start.pop(), qpos.pop(), qvel.pop(), control.pop()
                break
            if kept:
                qpos.append(d.qpos.copy()), qvel.append(d.qvel.copy()), control.append(u), contacts.append(d.ncon)
    return {"qpos": encode(qpos), "qvel": encode(qvel), "control": encode(control), "start": encode(np.int32(start)),
            "contacts": encode(np.int32(contacts))}


def random_model(rng):
    """A tree of bodies with what the reader honours."""
    number = lambda lo, hi, n=1: " ".join(f"{x:.4g}" for x in rng.uniform(lo, hi, n))
    maybe = lambda p, text: f" {text}" if rng.random() < p else ""
    turned = lambda: maybe(.6, rng.choice([
        f'euler="{number(-90, 90, 3)}"', f'quat="{number(-1, 1, 4)}"', f'zaxis="{number(-1, 1, 3)}"',
        f'axisangle="{number(-1, 1, 3)} {number(-180, 180)}"', f'xyaxes="{number(-1, 1, 6)}"']))
    joints, parents = [], []

    def geom():
        kind = rng.choice(["sphere", "capsule", "box", "ellipsoid", "cylinder"], p=[.35, .4, .1, .05, .1])
        sizes = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}[kind]
        shape = f'type="{kind}" size="{number(.03, .15, sizes)}" pos="{number(-.2, .2, 3)}"' + turned()
        if kind == "capsule" and rng.random() < .5:
            shape = f'type="capsule" size="{number(.03, .1)}" fromto="{number(-.3, .3, 6)}"'
        off = ' contype="0" conaffinity="0"' if kind in ("box", "ellipsoid", "cylinder") else ""
        dim = maybe(.5, f'condim="{rng.choice([1, 3])}"')
        return f"<geom {shape}{off}{dim}" + maybe(.4, f'friction="{number(.1, 2)}"') + maybe(
            .3, f'margin="{number(0, .05)}"') + maybe(
            .3, f'density="{number(100, 3000)}"') + maybe(.2, f'mass="{number(.1, 5)}"') + maybe(
            .2, f'solref="{number(.005, .05)} {number(.5, 2)}"') + maybe(
            .2, f'solimp="{number(.3, .9)} {number(.9, .99)} {number(.001, .1)}"') + maybe(
            .1, f'solmix="{number(.1, 3)}"') + maybe(
            .2, f'priority="{rng.integers(0, 3)}"') + "/>"

    def joint(names):
        name = f"j{len(joints)}"
        kind = rng.choice(["hinge", "slide"], p=[.75, .25])
        joints.append(name)
        half = .3 if kind == "slide" else 60
        return f'<joint name="{name}" type="{kind}" axis="{number(-1, 1, 3)}"' + maybe(
            .4, f'pos="{number(-.2, .2, 3)}"') + maybe(
            .4, f'range="{number(-half, -half / 4)} {number(half / 4, half)}"' + maybe(
                .3, f'margin="{number(0, .04)}"')) + maybe(
            .4, f'damping="{number(0, 2)}"') + maybe(
            .3, f'stiffness="{number(0, 20)}"' + maybe(.5, f'springref="{number(-half, half)}"')) + maybe(
            .3, f'armature="{number(0, .2)}"') + maybe(.15, f'ref="{number(-half / 4, half / 4)}"') + "/>"

    bodies = int(rng.integers(1, 13))
    children = {}
    for b in range(1, bodies + 1):
        children.setdefault(int(rng.integers(0, b)) if rng.random() < .8 else b - 1, []).append(b)

    def body(b, top):
        free = top and rng.random() < .5
        inside = "<freejoint/>" if free else "".join(
            joint(b) for _ in range(rng.choice([0, 1, 2, 3], p=[.1, .6, .2, .1])))
        inside += "".join(geom() for _ in range(rng.integers(1, 4)))
        if rng.random() < .15:
            a = rng.uniform(.5, 1, 3)
            inside += (f'<inertial pos="{number(-.1, .1, 3)}" mass="{number(.2, 3)}" '
                       f'diaginertia="{a[0]:.4g} {a[1]:.4g} {a[2]:.4g}"{turned()}/>')
        inside += "".join(body(c, False) for c in children.get(b, []))
        at = number(-.6, .6, 2) + " " + number(.1, .9) if top else number(-.3, .3, 3)
        return f'<body name="b{b}" pos="{at}"{turned()}>{inside}</body>'

    floor = '<geom name="floor" type="plane" size="5 5 1"' + maybe(.3, f'euler="{number(-10, 10, 3)}"') + maybe(
        .3, f'friction="{number(.1, 2)}"') + "/>" if rng.random() < .8 else ""
    world = floor + (geom() if rng.random() < .2 else "") + "".join(body(c, True) for c in children[0])
    drives = ""
    for j in joints:
        if rng.random() < .5:
            kind = rng.choice(["motor", "position", "velocity", "general"])
            drives += f'<{kind} joint="{j}"' + maybe(.6, f'gear="{number(-3, 9)}"') + maybe(
                .6, f'ctrlrange="{number(-2, 0)} {number(.1, 2)}"') + maybe(
                .3, f'forcerange="{number(-9, 0)} {number(.1, 9)}"') + {
                "motor": "",
                "position": maybe(.7, f'kp="{number(1, 30)}"') + maybe(.4, f'kv="{number(0, 2)}"'),
                "velocity": maybe(.7, f'kv="{number(0, 2)}"'),
                "general": f' gainprm="{number(-3, 3)}"' + maybe(
                    .6, f'biastype="affine" biasprm="{number(-1, 1)} {number(-9, 0)} {number(-1, 0)}"')}[kind] + "/>"
    exclude = "".join(f'<exclude body1="b{a}" body2="b{b}"/>' for a in range(1, bodies)
                      for b in range(a + 1, bodies + 1) if rng.random() < .1)
    option = f'<option timestep="{number(.001, .008)}" integrator="{rng.choice(["Euler", "RK4"])}"' + maybe(
        .2, f'density="{number(0, 5)}" viscosity="{number(0, .1)}"') + maybe(
        .2, f'gravity="{number(-3, 3, 2)} {number(-12, 0)}"') + "/>"
    default = "<default><geom" + maybe(.3, f'condim="{rng.choice([1, 3])}"') + maybe(
        .2, 'solimp=".8 .95 .01"') + "/><joint" + maybe(
        .3, f'damping="{number(0, 1)}"') + maybe(.2, f'armature="{number(0, .1)}"') + "/></default>"
    compiler = "<compiler" + maybe(.2, f'settotalmass="{number(2, 20)}"') + maybe(.2, 'inertiafromgeom="true"') + maybe(
        .2, f'eulerseq="{rng.choice(["zyx", "XYZ", "ZXY"])}"') + "/>"
    return (f"<mujoco>{compiler}{option}{default}<worldbody>{world}</worldbody><contact>{exclude}</contact>"
            f"<actuator>{drives}</actuator></mujoco>")


def main():
    folder = sys.argv[1]
    if len(sys.argv) > 2:
        os.makedirs(os.path.join(folder, "random"), exist_ok=True)
        for i in range(int(sys.argv[2])):
            rng = np.random.default_rng([int((sys.argv + ["0"])[3]), i])
            with open(os.path.join(folder, "random", f"{i:05}.xml"), "w") as f:
                f.write(re.sub(
                    r"(?<=>)(?=<(?:body|geom|joint|freejoint|worldbody|contact|actuator|/body|/worldbody)\b)", "\n",
                    random_model(rng)) + "\n")
    models = []
    for at, _, names in sorted(os.walk(folder)):
        for name in sorted(n for n in names if n.endswith(".xml")):
            path = os.path.join(at, name)
            if "<mujocoinclude" in open(path, errors="replace").read():
                continue
            out = {"name": os.path.relpath(path, folder)}
            try:
                out |= steps(mujoco.MjModel.from_xml_path(path), np.random.default_rng(7))
            except ValueError as e:
                out["error"] = " ".join(str(e).split())
            models.append(out)
    write(os.path.join(folder, "steps.json.gz"), {"versions": versions_of("mujoco", "numpy"), "models": models})
    print(f"{len(models)} models, of which MuJoCo refuses {sum('error' in m for m in models)}", file=sys.stderr)


if __name__ == "__main__":
    main()
