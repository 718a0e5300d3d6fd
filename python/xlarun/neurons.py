"""Neurons of the mechanistic dynamics: models in ms, mV, pA and nS, solved by the exponential Euler method.

The equations are those of graph/neuron; the constants follow from genes as in rollout/policy/spiking/mechanistic.go. A
state has the variables of the model first: v, and of adex and izhikevich a recovery, of hh three gates.
"""
import numpy as np

LONGEST = {"lif": np.inf, "expif": 0.25, "adex": 0.25, "izhikevich": 0.25, "hh": 0.1}  # ms: a step of each model
CAPACITANCE = 200.0  # pF
SODIUM, POTASSIUM = 50.0, -90.0  # mV: reversal potentials of hh


def exprel(z):
    """(exp(z) - 1)/z, which is 1 at 0."""
    near = np.abs(z) < 1e-4
    far = np.where(near, np.float32(1), z)
    return np.where(near, 1 + 0.5 * z, np.expm1(far) / far)


class Neurons:
    """A layer of neurons.

    n: dict of arrays [units], the physical values of each neuron: membrane, synapse and adaptation in ms, rest, reset,
    threshold, jump and drive in mV. dynamics: "mechanistic:MODEL" or "mechanistic:MODEL:SYNAPSE". dt: the time of a
    substep, in ms. reversal: two reversal potentials of synapses, in mV. refractory: the time in ms for which a neuron
    stays silent after a spike.
    """

    def __init__(self, dynamics, n, dt, reversal, refractory):
        _, self.model, *synapse = dynamics.split(":")
        self.synapse = synapse[0] if synapse else "pulse"
        self.by_sign = self.synapse in ("conductance", "shunt")
        self.steps = 1 if self.model == "lif" else max(1, int(np.ceil(dt / LONGEST[self.model] - 1e-6)))
        self.n, self.h = n, np.float32(dt / self.steps)
        self.leak = CAPACITANCE / n["membrane"]  # nS
        self.way = n["threshold"] - n["rest"]
        self.drive = self.leak * n["drive"]  # pA
        self.waits = np.round(np.float32(refractory) / self.h)
        self.connect(reversal, np.float32(dt))
        getattr(self, f"make_{self.model}")(np.exp(-np.float32(dt) / n["membrane"]))

    def connect(self, reversal, dt):
        """Sets what a weight of 1 mV gives.

        reversal: the two reversal potentials in mV. dt: ms. Sets excites [units], a current in pA, or a conductance in
        nS if by_sign; inhibits [units] in nS, if by_sign; and decay [units], the part of the current or conductance
        that is left after a step.
        """
        kept = lambda time, tau: np.exp(-time / tau)
        membrane, tau = self.n["membrane"], self.n["synapse"]
        pulse = self.leak / (1 - kept(dt, membrane))
        self.decay = np.zeros_like(tau)
        self.excites = pulse
        if self.synapse == "shunt":
            self.excites = self.steps * pulse
        elif self.synapse in ("current", "conductance"):
            self.decay = kept(self.h, tau)
            self.excites = self.leak * (1 - kept(self.h, tau)) / (1 - kept(self.h, membrane))
        if self.by_sign:
            middle = 0.5 * (self.n["rest"] + self.n["threshold"])
            self.reversal_i, self.reversal_e = (np.float32(potential) for potential in sorted(reversal))
            self.inhibits = self.excites / (middle - self.reversal_i)
            self.excites = self.excites / (self.reversal_e - middle)

    def start(self):
        """The state at rest, a dict: neurons, the model's variables, a list of arrays [units] with v in mV first;
        synapses, a pair of arrays [units] of excitation and inhibition in pA, or in nS if by_sign; waiting [units], the
        steps for which a neuron stays silent; spikes [units], 1 where it fired, else 0."""
        zeros = np.zeros_like(self.way)
        return {"neurons": self.rest_state(), "synapses": (zeros, zeros), "waiting": zeros, "spikes": zeros}

    def step(self, s, excitation, inhibition):
        """Advances the state s of start by dt ms, in place. Returns nothing: s["spikes"] is sent in the next substep.

        excitation, inhibition [units]: sums of weights in mV. If not by_sign, excitation is the sum of both, and
        inhibition is not read.
        """
        sent = 0
        for i in range(self.steps):
            current, conductance = self.receive(s, i, excitation, inhibition)
            self.integrate(s, current, conductance)
            sent = sent + self.fire(s)
        s["spikes"] = np.minimum(sent, 1)

    def receive(self, s, i, excitation, inhibition):
        """The input of the substep's step i: current - conductance*v."""
        if self.synapse == "pulse":
            return self.drive + excitation * self.excites, None
        e, inhibitory = (part * self.decay for part in s["synapses"])
        if i == 0:
            e = e + excitation * self.excites
            if self.by_sign:
                inhibitory = inhibitory + inhibition * self.inhibits
        s["synapses"] = e, inhibitory
        if self.by_sign:
            return e * self.reversal_e + inhibitory * self.reversal_i + self.drive, e + inhibitory
        return e + self.drive, None

    def integrate(self, s, current, conductance):
        variables, hh = s["neurons"], self.model == "hh"
        inflow = lambda v: current if conductance is None else current - conductance * v
        change, slope = self.derivative(variables, inflow, 0 if conductance is None else conductance)
        if not hh:
            s["waiting"] = np.maximum(s["waiting"] - 1, 0)
            change[0] = np.where(s["waiting"] > 0, np.float32(0), change[0])
        s["neurons"] = [a + self.h * (b * exprel(self.h * np.minimum(c, 0)))
                        for a, b, c in zip(variables, change, slope)]
        if hh:  # a neuron below its threshold can spike again
            s["waiting"] = np.where(s["neurons"][0] >= self.peak, s["waiting"], np.float32(0))

    def fire(self, s):
        spikes = (s["neurons"][0] >= self.peak) & (s["waiting"] <= 0)
        s["waiting"] = np.where(spikes, np.float32(1) if self.model == "hh" else self.waits, s["waiting"])
        s["neurons"] = [np.where(spikes, after, before)
                        for after, before in zip(self.reset(s["neurons"]), s["neurons"])]
        return spikes.astype(np.float32)

    def make_lif(self, kept):
        self.peak, self.jump = self.n["threshold"], self.n["threshold"] - self.n["reset"]
        if self.synapse in ("pulse", "shunt"):
            self.jump = self.jump / kept  # the potential leaks before the substep ends
        self.rest_state = lambda: [self.n["rest"]]
        self.reset = lambda variables: [variables[0] - self.jump]

        def derivative(variables, inflow, conductance):
            i = self.leak * (self.n["rest"] - variables[0]) + inflow(variables[0])
            return [i / CAPACITANCE], [-(self.leak + conductance) / CAPACITANCE]
        self.derivative = derivative

    def make_expif(self, _):
        self.delta = np.float32(0.1) * self.way
        self.upswing, self.peak = self.n["threshold"] + self.delta, self.n["threshold"] + 6 * self.delta
        self.rest_state = lambda: [self.n["rest"]]
        self.reset = lambda variables: [self.n["reset"]]
        self.derivative = self.exponential

    def exponential(self, variables, inflow, conductance):
        v = np.minimum(variables[0], self.peak)
        rise = np.exp((v - self.upswing) / self.delta)
        i = self.leak * (self.n["rest"] - v + self.delta * rise) + inflow(v)
        return [i / CAPACITANCE], [(self.leak * rise - (self.leak + conductance)) / CAPACITANCE]

    def make_adex(self, kept):
        self.make_expif(kept)
        self.rest_state = lambda: [self.n["rest"], np.zeros_like(self.way)]
        self.reset = lambda variables: [self.n["reset"], variables[1] + self.leak * self.n["jump"]]

        def derivative(variables, inflow, conductance):
            change, slope = self.exponential(variables, lambda v: inflow(v) - variables[1], conductance)
            return change + [-variables[1] / self.n["adaptation"]], slope + [-1 / self.n["adaptation"]]
        self.derivative = derivative

    def make_izhikevich(self, _):
        rest, threshold = self.n["rest"], self.n["threshold"]
        square = 4 / (self.way * self.n["membrane"])
        linear, constant = -square * (rest + threshold), square * (rest * threshold)
        rate = 1 / self.n["adaptation"]
        self.peak = threshold + self.way
        root = np.sqrt(np.maximum(0, linear**2 - 4 * (square * constant)))
        self.rest_state = lambda: [-(linear + root) / (2 * square), np.zeros_like(self.way)]
        self.reset = lambda variables: [self.n["reset"], variables[1] + self.n["jump"] / self.n["membrane"]]

        def derivative(variables, inflow, conductance):
            v = np.minimum(variables[0], self.peak)
            change = v * (square * v + linear) + constant - variables[1] + inflow(v) / CAPACITANCE
            return [change, -rate * variables[1]], [2 * square * v + linear - conductance / CAPACITANCE, -rate]
        self.derivative = derivative

    def make_hh(self, _):
        self.peak = 0.5 * (self.n["threshold"] + SODIUM)
        self.zero = self.n["threshold"] - 3
        self.reset = lambda variables: variables

        def rest_state():
            v = self.n["rest"]
            return [v] + [alpha / (alpha + beta) for alpha, beta in self.rates(v)]

        def derivative(variables, inflow, conductance):
            v, m, h, n = variables
            sodium, potassium = 100 * CAPACITANCE * (m * m * m * h), 30 * CAPACITANCE * (n * n) ** 2
            i = self.leak * (self.n["rest"] - v) + sodium * (SODIUM - v) + potassium * (POTASSIUM - v) + inflow(v)
            change, slope = [i / CAPACITANCE], [-(self.leak + conductance + (sodium + potassium)) / CAPACITANCE]
            for gate, (alpha, beta) in zip(variables[1:], self.rates(v)):
                change.append(alpha - (alpha + beta) * gate)
                slope.append(-(alpha + beta))
            return change, slope
        self.rest_state, self.derivative = rest_state, derivative

    def rates(self, v):
        """The rates at which the gates m, h and n open and close, in 1/ms."""
        potential = np.clip(v - self.zero, -500, 500)
        ramp = lambda middle, sign, width: np.float32(sign / width) * (potential - middle)
        return ((0.32 * 4 / exprel(ramp(13, -1, 4)), 0.28 * 5 / exprel(ramp(40, 1, 5))),
                (0.128 * np.exp(ramp(17, -1, 18)), 4 / (1 + np.exp(-ramp(40, 1, 5)))),
                (0.032 * 5 / exprel(ramp(15, -1, 5)), 0.5 * np.exp(ramp(10, -1, 40))))
