"""Compiles another peer's JAX program for a GPU or TPU that is not there, and prints the kernels of its loops.

usage: aot_jax.py cuda|tpu TARGET SCRIPT ARGS...
TARGET is a file with a GpuTargetConfigProto (cuda), or the name of a topology such as v5e:2x2 (tpu). SCRIPT is a peer in this folder.
Its programs are the functions that it compiles by jax.jit(f).lower(...).compile(), or that it calls. The last line is JSON: for each
program the loops with the names of kernels and turns, the bytes of temporaries and arguments, the compiler's costs, the seconds to compile. Kernels are counted as xlarun counts them."""
import json, os, re, runpy, sys, time

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TPU_SKIP_MDS_QUERY"] = "1"
os.environ["ALLOW_MULTIPLE_LIBTPU_LOAD"] = "1"
import jax
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec

platform, target, script = sys.argv[1:4]
if platform == "cuda":
    top = topologies.get_topology_desc(platform="cuda", topology_name="gpu", topology="1x1x1", target_config=open(target).read())
else:
    top = topologies.get_topology_desc(platform="tpu", topology_name=target)
there = NamedSharding(Mesh(np.array(top.devices[:1]), ("x",)), PartitionSpec())

LAUNCHING = ("fusion|custom-call|dot|convolution|copy|sort|reduce|reduce-window|scatter|gather|dynamic-slice|dynamic-update-slice|"
             "concatenate|transpose|pad|slice|iota|broadcast|select-and-scatter|cholesky|triangular-solve|fft|rng-bit-generator|topk")
KERNEL = re.compile(r"%?([\w.\-]+) = .*? (?:" + LAUNCHING + r")\(")
WHILE = re.compile(r"%?([\w.\-]+) = .*? while\(.*?condition=%?([\w.\-]+), body=%?([\w.\-]+)(.*)")
CALL = re.compile(r"= .*? (?:call|async-start)\(.*?(?:to_apply|calls)=%?([\w.\-]+)")
BRANCH = re.compile(r"= .*? conditional\(.*?branch_computations=\{([^}]*)\}")
BOUND = re.compile(r"s32\[\][^ ]* constant\((\d+)\)")


def loops(text):
    bodies, entry, name = {}, None, None
    for line in text.splitlines():
        head = re.match(r"(ENTRY )?%?([\w.\-]+) \(.*\) -> .* \{$", line)
        if head:
            name = head.group(2)
            bodies[name] = []
            entry = name if head.group(1) else entry
        elif name and line.startswith("  "):
            bodies[name].append(line)
    found = []

    def count(name):
        kernels, inside = [], []
        for line in bodies.get(name, []):
            if m := WHILE.search(line):
                trips = re.search(r'known_trip_count[^0-9]*(\d+)', m.group(4))
                bound = [int(b) for x in bodies.get(m.group(2), []) for b in BOUND.findall(x)]
                plain = not any(re.search(r" (and|or)\(", x) for x in bodies.get(m.group(2), []))
                inside.append((m.group(1), m.group(3), int(trips.group(1)) if trips else bound[0] if len(bound) == 1 and plain else 0))
            elif m := BRANCH.search(line):
                counts = [count(b.strip().lstrip("%")) for b in m.group(1).split(",")]
                most = max(counts, key=lambda c: len(c[0]))
                kernels, inside = kernels + most[0], inside + most[1]
            elif m := CALL.search(line):
                more = count(m.group(1))
                kernels, inside = kernels + more[0], inside + more[1]
            elif (m := KERNEL.search(line)) and "AllocateBuffer" not in line:
                kernels = kernels + [m.group(1)]
        return kernels, inside

    def walk(name, depth, trips, of):
        kernels, inside = count(of)
        found.append(dict(name=name, depth=depth, trips=trips, kernels=kernels))
        for inner, body, turns in inside:
            walk(inner, depth + 1, turns, body)

    walk(entry, 0, 1, entry)
    return found


def costs(compiled):
    try:
        cost = compiled.cost_analysis()
    except Exception:  # some plugins count nothing
        return {}
    cost = cost[0] if isinstance(cost, list) else cost
    return {k: float(v) for k, v in (cost or {}).items() if k in ("flops", "transcendentals", "bytes accessed")}


programs = []
real = jax.jit


class Ahead:
    """A function that jax.jit made in the peer's script."""

    def __init__(self, f, **options):
        self.f, self.options = f, options
        self.jitted = real(f, **options)

    def lower(self, *args, **named):
        place = lambda x: jax.ShapeDtypeStruct(jax.numpy.shape(x), jax.dtypes.canonicalize_dtype(x.dtype) if not jax.dtypes.issubdtype(
            x.dtype, jax.dtypes.extended) else x.dtype, sharding=there) if hasattr(x, "dtype") else x
        lowered = self.jitted.lower(*jax.tree.map(place, args), **jax.tree.map(place, named))
        start = time.time()
        compiled = lowered.compile()
        programs.append(dict(name=getattr(self.f, "__name__", "function"), seconds=time.time() - start, loops=loops(compiled.as_text()),
                             temporary=compiled.memory_analysis().temp_size_in_bytes,
                             arguments=compiled.memory_analysis().argument_size_in_bytes, cost=costs(compiled)))
        raise SystemExit  # the script's next step would run it

    def __call__(self, *args, **named):
        if any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves((args, named))):
            return self.jitted(*args, **named)
        return self.lower(*args, **named)

    def __getattr__(self, name):
        return getattr(self.jitted, name)


def jit(f=None, **options):
    if f is None:
        return lambda f: jit(f, **options)
    main = getattr(f, "__module__", None) == "__main__" or getattr(getattr(f, "__wrapped__", None), "__module__", None) == "__main__"
    return Ahead(f, **options) if main else real(f, **options)


sys.argv = sys.argv[3:]
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
jax.jit = jit
try:
    runpy.run_path(os.path.join(here, script), run_name="__main__")
except SystemExit:
    pass
print(json.dumps(dict(programs=programs)))
