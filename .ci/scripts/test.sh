#!/usr/bin/env bash
# test.sh PACKAGES [GO TEST FLAGS]: every test once. Test programs that link
# DuckDB, or the SQLite that was translated from C, run without the race
# detector: there it multiplies build and run time and sees none of that code.
set -euo pipefail

: "${TAGS:?}"
pattern=${1:-./...}
shift || true

# One line for each program, PACKAGE.test for tests, with all that it links.
programs=$(go list -tags "$TAGS" -test -f \
	'{{if eq .Name "main"}}{{.ImportPath}} {{join .Deps " "}}{{end}}' "$pattern")

# Tests that say how long an answer may take run one package at a time.
plain=() raced=() alone=()
while read -r program links; do
	package=${program%.test}
	[ "$package" != "$program" ] || continue # a command, not its test
	case "$package" in
	*/cmd/e2e/* | */engine/sqlguard)
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
	go test -tags "$TAGS" -timeout 15m "$@" "${plain[@]}" || status=1
fi
if [ ${#alone[@]} -gt 0 ]; then
	go test -tags "$TAGS" -timeout 20m -p 1 "$@" "${alone[@]}" || status=1
fi
exit $status
