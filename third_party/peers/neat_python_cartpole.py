"""NEAT by neat-python on CartPole, in plain Python: a whole generation, evaluation and reproduction, of one process.

usage: neat_python_cartpole.py POP
Ten generations run before the first that is timed, because members of the first ones fall at once. The result is the
best fitness of a generation.
"""
import math, os, random, sys, tempfile
import neat
from serve import serve

WARM_UP, STEPS = 10, 500


def attribute(name, mean, deviation, power, rate, replace):
    values = dict(init_mean=mean, init_stdev=deviation, init_type="gaussian", max_value=30, min_value=-30,
                  mutate_power=power, mutate_rate=rate, replace_rate=replace)
    return "\n".join(f"{name}_{key} = {value}" for key, value in values.items())


CONFIG = f"""
[NEAT]
fitness_criterion = max
fitness_threshold = 1e9
no_fitness_termination = True
reset_on_extinction = True
pop_size = {sys.argv[1]}
[DefaultGenome]
num_inputs = 4
num_outputs = 1
num_hidden = 0
feed_forward = True
initial_connection = full_direct
single_structural_mutation = False
structural_mutation_surer = default
compatibility_disjoint_coefficient = 1.0
compatibility_weight_coefficient = 0.5
conn_add_prob = 0.4
conn_delete_prob = 0.2
conn_add_mutate = 0.0
node_add_prob = 0.2
node_delete_prob = 0.1
activation_default = sigmoid
activation_options = sigmoid
activation_mutate_rate = 0.0
aggregation_default = sum
aggregation_options = sum
aggregation_mutate_rate = 0.0
{attribute("bias", 0, 1, .5, .7, .1)}
{attribute("response", 1, 0, 0, 0, 0)}
{attribute("weight", 0, 1, .5, .8, .1)}
enabled_default = True
enabled_mutate_rate = 0.01
enabled_rate_to_true_add = 0.0
enabled_rate_to_false_add = 0.0
[DefaultSpeciesSet]
compatibility_threshold = 3.0
[DefaultStagnation]
species_fitness_func = max
max_stagnation = 15
species_elitism = 2
[DefaultReproduction]
elitism = 2
survival_threshold = 0.2
min_species_size = 1
"""


def episode(genome, config):
    """The return of an episode with the equations of CartPole-v1."""
    net, draw = neat.nn.FeedForwardNetwork.create(genome, config), random.Random(genome.key)
    x, v, angle, spin = (draw.uniform(-.05, .05) for _ in range(4))
    for step in range(STEPS):
        force = 10. if net.activate((x, v, angle, spin))[0] > .5 else -10.
        c, s = math.cos(angle), math.sin(angle)
        push = (force + .05 * spin * spin * s) / 1.1
        turn = (9.8 * s - c * push) / (.5 * (4 / 3 - .1 * c * c / 1.1))
        x, v, angle, spin = x + .02 * v, v + .02 * (push - .05 * turn * c / 1.1), angle + .02 * spin, spin + .02 * turn
        if abs(x) > 2.4 or abs(angle) > .2095:
            break
    return step + 1.


def main():
    with tempfile.NamedTemporaryFile("w", suffix=".ini", delete=False) as f:
        f.write(CONFIG)
    config = neat.Config(neat.DefaultGenome, neat.DefaultReproduction, neat.DefaultSpeciesSet, neat.DefaultStagnation,
                         f.name)
    os.unlink(f.name)
    population, best = neat.Population(config, seed=0), 0.

    def evaluate(genomes, config):
        nonlocal best
        for _, genome in genomes:
            genome.fitness = episode(genome, config)
        best = max(genome.fitness for _, genome in genomes)

    def generation():
        population.run(evaluate, 1)
        return best
    for _ in range(WARM_UP):
        generation()
    serve(generation)


main()
