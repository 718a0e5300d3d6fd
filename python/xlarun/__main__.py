"""Runs the program: python -m xlarun evolve CartPole-v1."""
import importlib.metadata
import os
import sys

for distribution in importlib.metadata.distributions(name="xlarun"):
    for file in distribution.files or []:
        if file.name == "xlarun":  # ../../../bin/xlarun
            program = str(file.locate())
            os.execv(program, [program, *sys.argv[1:]])
sys.exit("xlarun was installed without its programs: install the wheel that python/wheel of a checkout makes")
