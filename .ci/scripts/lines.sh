#!/usr/bin/env bash
# lines.sh [REV]: counts the production lines of the working tree, and compares them with
# those of a revision. Blank lines, comments, tests, suites and bench do not count.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
count() { go run "$root/.ci/scripts/lines.go" "$1"; }

now=$(count "$root")
if [ $# -eq 0 ]; then
	echo "$now"
	exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git -C "$root" archive "$1" | tar -x -C "$work"
before=$(count "$work")
echo "$1: $before lines, working tree: $now lines, change: $(awk "BEGIN { printf \"%+.1f %%\", ($now - $before) * 100 / $before }")"
