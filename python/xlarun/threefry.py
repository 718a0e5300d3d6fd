"""The random numbers of a seed, as the Go program and jax.random draw them: Threefry-2x32 (Salmon et al., 2011)."""
import numpy as np

ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)
TINY = np.finfo(np.float32).tiny


def key(seed):
    """The key of a seed: its upper and its lower 32 bits."""
    return np.uint32(seed >> 32 & 0xFFFFFFFF), np.uint32(seed & 0xFFFFFFFF)


def threefry(key, counters):
    """The two words of each counter, uint32."""
    keys = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    counters = np.asarray(counters, np.uint32)
    a, b = np.zeros_like(counters) + keys[0], counters + keys[1]
    for turn in range(5):
        for by in ROTATIONS[turn % 2]:
            a = a + b
            b = (b << np.uint32(by) | b >> np.uint32(32 - by)) ^ a
        a, b = a + keys[(turn + 1) % 3], b + keys[(turn + 2) % 3] + np.uint32(turn + 1)
    return a, b


def fold(key, number):
    """Key `number` of those that the key splits into."""
    a, b = threefry(key, [number])
    return a[0], b[0]


def uniform(key, n):
    """n numbers from 0 to below 1."""
    a, b = threefry(key, np.arange(n))
    return ((a ^ b) >> np.uint32(9) | np.uint32(0x3F800000)).view(np.float32) - np.float32(1)


def gumbel(key, n):
    """n draws of the standard Gumbel distribution."""
    return -np.log(-np.log(np.maximum(uniform(key, n), TINY)))
