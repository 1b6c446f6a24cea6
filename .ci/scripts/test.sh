#!/usr/bin/env bash
# test.sh [-unit] PACKAGES [GO TEST FLAGS]: every test once, or with -unit those that
# need no running server. Test programs that link DuckDB, or the SQLite that was
# translated from C, run without the race detector: there it multiplies build and
# run time and sees none of that code.
set -euo pipefail

: "${TAGS:?}"
unit=
if [ "${1:-}" = -unit ]; then
	unit=yes
	shift
fi
pattern=${1:-./...}
shift || true

# One line for each program, PACKAGE.test for tests, with all that it links.
programs=$(go list -tags "$TAGS" -test -f \
	'{{if eq .Name "main"}}{{.ImportPath}} {{join .Deps " "}}{{end}}' "$pattern")

# Tests that measure how long an answer takes, or use both cores, run one package at
# a time. The other packages run side by side.
plain=() raced=() alone=()
while read -r program links; do
	package=${program%.test}
	[ "$package" != "$program" ] || continue # a command, not its test
	case "$package" in
	*/cmd/e2e/* | */cmd/interop) [ -z "$unit" ] || continue ;;
	esac
	case "$package" in
	*/cmd/e2e/hostile | */cmd/e2e/kill | */engine/sqlguard)
		alone+=("$package")
		continue
		;;
	esac
	case "$links" in
	*github.com/duckdb/duckdb-go* | *modernc.org/sqlite*) plain+=("$package") ;;
	*) raced+=("$package") ;;
	esac
done <<<"$programs"
if [ $((${#plain[@]} + ${#raced[@]} + ${#alone[@]})) -eq 0 ]; then
	echo "test.sh: no test in $pattern" >&2
	exit 1
fi

status=0
if [ ${#raced[@]} -gt 0 ]; then
	go test -tags "$TAGS" -timeout 15m -race "$@" "${raced[@]}" || status=1
fi
if [ ${#plain[@]} -gt 0 ]; then
	go test -tags "$TAGS" -timeout 15m -p 2 "$@" "${plain[@]}" || status=1
fi
if [ ${#alone[@]} -gt 0 ]; then
	go test -tags "$TAGS" -timeout 15m -p 1 "$@" "${alone[@]}" || status=1
fi
exit $status
