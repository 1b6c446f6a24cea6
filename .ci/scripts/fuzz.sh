#!/usr/bin/env bash
# fuzz.sh TIME: every fuzz target of the tree for TIME each.
set -euo pipefail

: "${TAGS:?}"
time=$1
grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . |
	sed -E 's|^\./(.*)/[^/]+:[0-9]+:func (.*)$|\1 \2|' |
	sort -u | while read -r folder target; do
	echo "== $folder $target"
	go test -tags "$TAGS" -run '^$' -fuzz "^$target\$" -fuzztime "$time" "./$folder" </dev/null
done
