#!/usr/bin/env bash
# Makes the packages of this checkout known to a notebook. gonb runs it in the folder where it builds the cells:
#   !*bash PATH/examples/notebooks/setup.sh
# The cells get the same versions of all modules as this checkout, so nothing is looked up. They are in a workspace with
# the checkout, so packages that it has built serve the cells too.
set -euo pipefail
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
module=$(GOWORK=off go list -m)
sed "s|^module .*|module $module|; /^tool /d" "$checkout/go.mod" >go.mod
cp "$checkout/go.sum" go.sum
go mod edit -require=xlarun@v0.0.0 -replace="xlarun=$checkout"
rm -f go.work && go work init . "$checkout"
echo "xlarun from $checkout"
