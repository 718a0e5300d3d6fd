"""NEAT by TensorNEAT on XOR3d: a whole step of its pipeline. It is in no package registry: a checkout on PYTHONPATH.

usage: tensorneat_xor.py POP NODES CONNECTIONS
The result is the best fitness of a generation.
"""
import contextlib
import sys
import time
import jax
from serve import serve


def main():
    with contextlib.redirect_stdout(sys.stderr):
        from tensorneat import algorithm, genome, problem
        from tensorneat.common import ACT
        from tensorneat.pipeline import Pipeline
        population, nodes, connections = map(int, sys.argv[1:])
        genes = genome.DefaultGenome(num_inputs=3, num_outputs=1, max_nodes=nodes, max_conns=connections,
                                     output_transform=ACT.sigmoid)
        neat = algorithm.NEAT(pop_size=population, species_size=20, survival_threshold=.2, genome=genes)
        pipeline = Pipeline(neat, problem.XOR3d(), generation_limit=1 << 20, seed=42)
        state = pipeline.setup()
    start = time.perf_counter()
    step = jax.jit(pipeline.step).lower(state).compile()
    seconds = time.perf_counter() - start

    def generation():
        nonlocal state
        state, _, fitness = jax.block_until_ready(step(state))
        return fitness.max()
    serve(generation, compile=seconds)


main()
