"""The learning curves of gymnax_ppo.py with 20 seeds on CartPole-v1: of each seed the mean return of the episodes that ended in each of the first tenths of a training of
500,000 steps, which ends after the last of them.
usage: jax_ppo_curve.py OUT.json [TENTHS=10] [AGENTS=20]"""
import json, os, sys
import numpy as np
out, tenths, agents = (sys.argv[1:] + ["10", "20"][len(sys.argv) - 2:])[:3]
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "peers", "gymnax_ppo.py")
sys.path.insert(0, os.path.dirname(path))  # of the modules that it imports
source = open(path).read()
for was, now in (("(p, opt, s, key), None, UPDATES)[1]", "(p, opt, s, key), None, RUN)[1]"), ("UPDATES = STEPS // (ENVS * T)\n", "UPDATES = STEPS // (ENVS * T); RUN = UPDATES * %s // 10\n" % tenths), ("serve(run, per=", "dict(run=run, per=")):
    assert source.count(was) == 1, was
    source = source.replace(was, now)
sys.argv = [path, "CartPole-v1", "500000", "4", "128", agents, "0"]
g = {"__name__": "__main__"}
exec(compile(source, path, "exec"), g)
ret, n = (np.asarray(x, float) for x in g["f"](g["keys"]))
updates = g["UPDATES"]
cut = [updates * i // 10 for i in range(int(tenths) + 1)]
curves = [[round(float(r[a:b].sum() / max(k[a:b].sum(), 1)), 3) for a, b in zip(cut[:-1], cut[1:])] for r, k in zip(ret, n)]
with open(out, "w") as f:
    f.write(json.dumps({"source": "gymnax_ppo.py CartPole-v1 500000 4 128 %s 0, the first %s tenths, jax %s" % (agents, tenths, g["jax"].__version__), "curves": curves}) + "\n")
