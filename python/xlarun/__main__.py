"""Runs the program: python -m xlarun evolve CartPole-v1."""
import importlib.metadata
import os
import sys

for distribution in importlib.metadata.distributions(name="xlarun"):
    for file in distribution.files or []:
        if file.name == "xlarun":  # the only one without a suffix
            program = str(file.locate())
            os.execv(program, [program, *sys.argv[1:]])
sys.exit("xlarun was installed without its programs: install the wheel that python/build of a checkout makes")
