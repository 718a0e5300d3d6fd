"""The learning curves of gymnax_ppo.py with 20 seeds on CartPole-v1: of each seed the mean return of the episodes that ended in each tenth of 500,000 steps.
usage: jax_ppo_curve.py OUT.json [STEPS=500000] [AGENTS=20]"""
import json, os, runpy, sys
import numpy as np
out, steps, agents = (sys.argv[1:] + ["500000", "20"][len(sys.argv) - 2:])[:3]
peer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "peers", "gymnax_ppo.py")
sys.argv = [peer, "CartPole-v1", steps, "4", "128", agents, "0"]
g = runpy.run_path(peer)
ret, n, cut = g["ret"].astype(float), g["n"].astype(float), g["cut"]
curves = [[float(r[a:b].sum() / max(k[a:b].sum(), 1)) for a, b in zip(cut[:-1], cut[1:])] for r, k in zip(ret, n)]
json.dump({"source": "gymnax_ppo.py CartPole-v1 %s 4 128 %s 0, jax %s" % (steps, agents, g["jax"].__version__), "curves": [[round(x, 3) for x in c] for c in curves]}, open(out, "w"))
open(out, "a").write("\n")
