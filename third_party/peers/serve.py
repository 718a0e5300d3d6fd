"""The protocol between xlarun bench and its peers: a line of JSON on stdout when ready, then one for each line of JSON on stdin."""
import json, resource, sys, time


def peak():
    """The most resident memory of this process so far, in bytes."""
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM:"))


def processor():
    """The CPU seconds of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def answer(f, **ready):
    """Answers each line with f of it. ready is the first line."""
    print(json.dumps(ready), flush=True)
    for line in sys.stdin:
        print(json.dumps(f(json.loads(line))), flush=True)


def serve(run, per=1.0, timed=False, compile=0.0, checks=(), known=True):
    """Runs run() as often as each line says. run computes once, waits for it and returns a number.

    Times are divided by per. With timed, run returns its seconds instead. compile are the seconds to trace and compile;
    checks are numbers that the two sides agree on. known is False if processes that are not children compute: then no
    CPU time is given."""
    def runs(n):
        seconds, busy = [], processor()
        for _ in range(n):
            start = time.perf_counter()
            result = run()
            seconds.append((result if timed else time.perf_counter() - start) / per)
        return dict(seconds=seconds, processor=known * (processor() - busy) / n / per, peak=peak(), result=float(result))
    runs(1)
    answer(runs, compile=compile, checks=list(checks))


def serve_jax(f, args, per=1.0, checks=None):
    """Compiles f for args and serves its calls. checks(out) are the numbers to agree on; the first result is the result."""
    import jax
    start = time.perf_counter()
    compiled = jax.jit(f).lower(*args).compile()
    seconds = time.perf_counter() - start
    out = jax.block_until_ready(compiled(*args))
    def run():
        x = jax.tree.leaves(jax.block_until_ready(compiled(*args)))[0]
        return float(x) if x.size == 1 else 0.0
    serve(run, per, compile=seconds, checks=checks(out) if checks else ())
