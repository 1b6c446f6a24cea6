#!/usr/bin/env bash
# test.sh [-unit] [-whole] [PACKAGES...] [GO TEST FLAGS] runs the tests of the packages, by
# default all, or with -unit those that need no running server. Tests of many similar cases
# take representative ones, or with -whole all. Test programs that link DuckDB, or SQLite
# translated to Go, run without the race detector: it multiplies their build and run time and
# does not see C code. engine/delta runs both ways, with fewer cases under the race detector.
set -euo pipefail

: "${TAGS:?}"
# golangci-lint vets the code.
flags=(-tags "$TAGS" -vet off -timeout 15m)
unit='' whole='' patterns=()
while [ $# -gt 0 ]; do
	case "$1" in
	-unit) unit=yes ;;
	-whole) whole=yes ;;
	-*) break ;;
	*) patterns+=("$1") ;;
	esac
	shift
done
# Not -short, with which property tests would draw a fifth of their samples.
[ -n "$whole" ] || export LAKEWARDEN_TEST_REPRESENTATIVE=yes

# One line for each program, PACKAGE.test for tests, with all that it links.
programs=$(go list -tags "$TAGS" -test -f \
	'{{if eq .Name "main"}}{{.ImportPath}} {{join .Deps " "}}{{end}}' "${patterns[@]:-./...}")

# The attacks on resources use both cores and measure how long others wait: their
# package runs alone. The others run three at once, because many of them wait. Those
# without the race detector begin with the longest.
long=() plain=() raced=() alone=()
while read -r program links; do
	package=${program%.test}
	[ "$package" != "$program" ] || continue # a command, not its test
	case "$package" in
	*/cmd/e2e/* | */cmd/interop) [ -z "$unit" ] || continue ;;
	esac
	case "$package" in
	*/cmd/e2e/hostile) alone+=("$package") ;;
	*/engine/delta) raced+=("$package") && plain+=("$package") ;;
	*/cmd/e2e/* | */cmd/interop | */engine/worker | */engine/sqlguard | */engine/duckdb) long+=("$package") ;;
	*) case "$links" in
		*github.com/duckdb/duckdb-go* | *modernc.org/sqlite*) plain+=("$package") ;;
		*) raced+=("$package") ;;
		esac ;;
	esac
done <<<"$programs"
plain=("${long[@]}" "${plain[@]}")
if [ $((${#plain[@]} + ${#raced[@]} + ${#alone[@]})) -eq 0 ]; then
	echo "test.sh: no test in ${patterns[*]}" >&2
	exit 1
fi

status=0
# For the race detector all libraries are compiled once more. Without inlining and debug
# information that takes 40 % less time, more than the tests lose.
[ ${#raced[@]} -eq 0 ] || go test "${flags[@]}" -race -gcflags 'all=-l -dwarf=false' -p 3 "$@" "${raced[@]}" || status=1
[ ${#plain[@]} -eq 0 ] || go test "${flags[@]}" -p 3 "$@" "${plain[@]}" || status=1
[ ${#alone[@]} -eq 0 ] || go test "${flags[@]}" -p 1 "$@" "${alone[@]}" || status=1
exit $status
