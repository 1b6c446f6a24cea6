#!/usr/bin/env bash
# npmserver.sh BIN NAME SOURCE installs the packages of a Node.js server, which the tests start on
# loopback, into BIN/NAME. SOURCE has their package.json and lock file. A copy of the lock file
# marks it as done.
set -euo pipefail

name=$2 source=$3 target=$1/$2
stamp=$target/.installed

cmp -s "$source/package-lock.json" "$stamp" && exit 0
echo "installing $name"
mkdir -p "$target"
cp "$source/package.json" "$source/package-lock.json" "$target"
if ! (cd "$target" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error); then
	if [ "${CI:-}" = true ]; then
		echo "npmserver.sh: $name is needed (Node.js with npm) and could not be installed" >&2
		exit 1
	fi
	echo "npmserver.sh: no $name; its tests will be skipped" >&2
	exit 0
fi
cp "$source/package-lock.json" "$stamp"
