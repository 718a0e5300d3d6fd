#!/bin/sh
# Minimizes (x - 2)^2 by steps.
for step in 1 2 3 4 5; do
	sleep 0.04
	awk "BEGIN { printf \"{\\\"step\\\": $step, \\\"loss\\\": %g}\\n\", ($1 - 2) ^ 2 + 1 / $step }"
done
