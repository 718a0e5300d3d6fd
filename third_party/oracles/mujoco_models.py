"""MuJoCo's compiler on MJCF files for envs/bodies/mjcf: OUTPUT_DIR/features.json.gz, from OUTPUT_DIR/features/*.xml.

{"versions": {...}, "models": {NAME: M}}; M has the fields of bodies.Model in Go. Geoms that are not computed there, which touch
nothing in these files, are left out; where flags switch gravity, limits or contacts off they are.
"""
import os
import sys

import mujoco

from common import out_dir, versions_of, write
from mujoco_bodies import GEOMS, model

COMPUTED = ("plane", "sphere", "capsule", "cylinder")


def compiled(m):
    out = model(m, pairs_too=True)
    for a, actuator in enumerate(out["Actuators"]):
        if m.actuator_biastype[a] == 0:
            actuator["Bias"] = [0, 0, 0]
    off = lambda *flags: any(m.opt.disableflags & f for f in flags)
    free = off(mujoco.mjtDisableBit.mjDSBL_CONTACT, mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    for p in range(m.npair):
        two = sorted([int(m.pair_geom1[p]), int(m.pair_geom2[p])])
        same_as_of_geoms(m, p, *two)
        if {"Geoms": two} not in out["Pairs"]:
            out["Pairs"].append({"Geoms": two})
    if off(mujoco.mjtDisableBit.mjDSBL_GRAVITY):
        out["Gravity"] = [0, 0, 0]
    if free:
        out["Pairs"] = []
    if off(mujoco.mjtDisableBit.mjDSBL_LIMIT, mujoco.mjtDisableBit.mjDSBL_CONSTRAINT):
        for j in out["Joints"]:
            j["Limited"] = False
    kept = [g for g in range(m.ngeom) if GEOMS[m.geom_type[g]] in COMPUTED]
    out["Geoms"] = [out["Geoms"][g] for g in kept]
    out["Pairs"] = [{"Geoms": [kept.index(g) for g in p["Geoms"]]} for p in out["Pairs"]
                    if all(g in kept for g in p["Geoms"])]
    return out


def same_as_of_geoms(m, p, g, h):
    """A pair of the models is what MuJoCo makes of two geoms of one priority that touch."""
    dim = max(m.geom_condim[g], m.geom_condim[h])
    mix = m.geom_solmix[g] / (m.geom_solmix[g] + m.geom_solmix[h])
    want = {"dim": dim, "margin": m.geom_margin[g] + m.geom_margin[h], "friction": max(m.geom_friction[g][0], m.geom_friction[h][0])}
    got = {"dim": m.pair_dim[p], "margin": m.pair_margin[p], "friction": m.pair_friction[p][0]}
    if want != got or abs(mix * m.geom_solref[g] + (1 - mix) * m.geom_solref[h] - m.pair_solref[p]).max() > 1e-12:
        print(f"pair {p} of {m.geom(g).name} and {m.geom(h).name}: {got}, where the geoms make {want}", file=sys.stderr)


if __name__ == "__main__":
    folder = out_dir(__doc__)
    features = os.path.join(folder, "features")
    models = {}
    for name in sorted(os.listdir(features)):
        if name.endswith(".xml"):
            m = mujoco.MjModel.from_xml_path(os.path.join(features, name))
            models[name] = compiled(m)
    write(os.path.join(folder, "features.json.gz"), {"versions": versions_of("mujoco"), "models": models})
