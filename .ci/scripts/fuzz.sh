#!/usr/bin/env bash
# fuzz.sh TIME [PATTERN] runs every fuzz target of the tree for TIME each, or those whose line
# "FOLDER TARGET" matches.
set -euo pipefail

: "${TAGS:?}"
time=$1
pattern=${2:-.*}
targets=$(grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . |
	sed -E 's|^\./(.*)/[^/]+:[0-9]+:func (.*)$|\1 \2|' |
	sort -u | grep -xE "$pattern")
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# run FOLDER TARGET fuzzes one target.
run() {
	# Code with goroutines covers other lines in each run: to look for the
	# smallest input of the same coverage would take up all the time.
	go test -tags "$TAGS" -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 10x \
		-parallel 2 "./$1" </dev/null 2>&1 | tee "$log"
}

# cutoff: the run failed only because its time ended. Go's fuzzer sometimes reports the
# end of the time as a failure of the input under way, and then writes no input.
cutoff() {
	grep -qx ' *context deadline exceeded' "$log" && ! grep -qE 'Failing input written|panic:|hung or terminated' "$log"
}

while read -r folder target; do
	echo "== $folder $target"
	run "$folder" "$target" || { cutoff && echo "== once more" && run "$folder" "$target"; }
done <<<"$targets"
