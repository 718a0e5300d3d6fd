"""1,000 random genomes of neat-python as export_network_json writes them, with their outputs; half are recurrent.

usage: neat_python_networks.py FOLDER
Writes neat_python.json.gz: {"networks": [{"file": the exported text, "inputs": [...], "outputs": [[...] of each step]}]}.
Feed-forward networks have one step. All have 3 inputs and 2 outputs. Recurrent ones have no squares and products,
which overflow, and networks are left out whose outputs rounding moves by nearly 1e-6.
"""
import gzip, json, os, random, sys, tempfile, types
import neat
from neat.export import export_network_json

ACTIVATIONS = "sigmoid tanh sin gauss relu identity clamped abs hat square".split()
AGGREGATIONS = "sum product max min maxabs mean".split()
STEPS = 4


def genome(draw, recurrent):
    inputs, outputs, hidden = 3, 2, draw.randint(0, 6)
    ins, nodes = [-i - 1 for i in range(inputs)], list(range(outputs + hidden))
    order = nodes[outputs:] + nodes[:outputs]  # a feed-forward network connects earlier nodes with later ones
    activations = [a for a in ACTIVATIONS if not recurrent or a != "square"]
    aggregations = [a for a in AGGREGATIONS if not recurrent or a != "product"]
    number = lambda scale: round(draw.gauss(0, scale), 3)
    g = types.SimpleNamespace(nodes={}, connections={})
    for node in nodes:
        g.nodes[node] = types.SimpleNamespace(activation=draw.choice(activations), aggregation=draw.choice(aggregations),
                                              bias=number(.5), response=round(1 + draw.gauss(0, .2), 3))
    for i, node in enumerate(order):
        for source in ins + (order if recurrent else order[:i]):
            if draw.random() < .4:
                key = (source, node)
                g.connections[key] = types.SimpleNamespace(key=key, weight=number(.7), enabled=draw.random() < .85)
    settings = types.SimpleNamespace(input_keys=ins, output_keys=nodes[:outputs],
                                     activation_defs=neat.activations.ActivationFunctionSet(),
                                     aggregation_function_defs=neat.aggregations.AggregationFunctionSet())
    return g, types.SimpleNamespace(genome_config=settings)


def outputs_of(kind, g, config, x, draw=None):
    """The outputs of each step. With draw, numbers are moved as single precision would round them."""
    net = kind.create(g, config)
    if draw:
        moved = lambda v: v * (1 + draw.uniform(-2e-7, 2e-7))
        net.node_evals = [(node, act, agg, moved(bias), moved(response), [(i, moved(w)) for i, w in links])
                          for node, act, agg, bias, response, links in net.node_evals]
    return [net.activate(x) for _ in range(STEPS if kind is neat.nn.RecurrentNetwork else 1)]


def fair(kind, g, config, x, outputs, draw):
    """Whether a network in single precision can give these outputs to 1e-6."""
    return all(abs(y - z) < 4e-7 * max(1, abs(y)) for _ in range(8)
               for a, b in zip(outputs, outputs_of(kind, g, config, x, draw)) for y, z in zip(a, b))


def main():
    draw, networks = random.Random(0), []
    while len(networks) < 1000:
        recurrent = len(networks) % 2 == 1
        g, config = genome(draw, recurrent)
        kind = neat.nn.RecurrentNetwork if recurrent else neat.nn.FeedForwardNetwork
        x = [round(draw.gauss(0, 1), 3) for _ in config.genome_config.input_keys]
        text = json.loads(export_network_json(kind.create(g, config)))
        del text["metadata"]["created_timestamp"]
        outputs = outputs_of(kind, g, config, x)
        if all(abs(y) < 1e3 for step in outputs for y in step) and fair(kind, g, config, x, outputs, draw):
            networks.append(dict(file=json.dumps(text, separators=(",", ":")), inputs=x,
                                 outputs=[[float(f"{y:.9g}") for y in step] for step in outputs]))
    path = os.path.join(sys.argv[1], "neat_python.json.gz")
    with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as f:
        f.write(json.dumps(dict(neat_python="2.0.0", networks=networks)).encode())


main()
