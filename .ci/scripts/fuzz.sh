#!/usr/bin/env bash
# fuzz.sh TIME [PATTERN]: every fuzz target of the tree for TIME each, or those
# whose line "FOLDER TARGET" matches.
set -euo pipefail

: "${TAGS:?}"
time=$1
pattern=${2:-.*}
targets=$(grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . |
	sed -E 's|^\./(.*)/[^/]+:[0-9]+:func (.*)$|\1 \2|' |
	sort -u | grep -xE "$pattern")
while read -r folder target; do
	echo "== $folder $target"
	# Code with goroutines covers other lines in each run: to look for the
	# smallest input of the same coverage would take up all the time.
	go test -tags "$TAGS" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x \
		-parallel 2 "./$folder" </dev/null
done <<<"$targets"
