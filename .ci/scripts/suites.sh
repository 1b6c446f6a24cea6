#!/usr/bin/env bash
# suites.sh REPORT [RUN...]: the suites of leaks and attacks in every way in which a
# table can be read: from local disk and over S3, with the engine in processes of
# its own and without, in place and always from copies, as lists of files and by the
# engine's own reader of logs. Each run also measures whether times reveal hidden
# values. What each run printed about itself goes to REPORT. A
# RUN is store/isolation/copies/reading, such as s3/process/never/list; without any,
# all are run, the ones that most is read in first.
set -euo pipefail

: "${TAGS:?}"
report=$1
shift
programs=$(mktemp -d)
log=$(mktemp)
trap 'rm -rf "$programs" "$log"' EXIT
for package in hostile operation worlds; do
	go test -tags "$TAGS" -c -o "$programs/$package" "./cmd/e2e/$package"
done

# Without workers nothing bounds the aggregates that the engine does not account,
# so the attacks on resources run where there are some.
leaks='^(TestTwoWorlds.*|TestHostileStatements.*)$'
attacks='^(TestTwoWorlds.*|TestHostileStatements.*|TestResourceAttacksEndInTime)$'

{
	echo "# Suites of leaks and attacks"
	echo
	echo "Made by \`make suites\` on $(date -u +%F), DuckDB $(sed -n 's/^engine //p' engine/sqlguard/leakproof/leakproof.txt | head -1), $(nproc) cores. One block a run: store, isolation, copies, reading."
} >"$report"

status=0
run() { # store isolation copies reading tests package...
	local verdict=passed began=$SECONDS package
	: >"$log"
	for package in "${@:6}"; do
		(cd "cmd/e2e/$package" && LAKEWARDEN_TEST_STORE=$1 LAKEWARDEN_TEST_ISOLATION=$2 LAKEWARDEN_TEST_COPIES=$3 LAKEWARDEN_TEST_READING=$4 LAKEWARDEN_TEST_TIMING=1 \
			"$programs/$package" -test.v -test.timeout 30m -test.run "$5") >>"$log" 2>&1 || verdict=FAILED
	done
	echo "suites: $1 $2 $3 $4: $verdict, $((SECONDS - began)) s"
	[ "$verdict" = passed ] || { status=1 && grep -v '^=== ' "$log" | tail -60; }
	{
		echo
		echo "## $1, isolation $2, copies $3, $4: $verdict"
		echo
		# The tests' own summaries, without file names and times of subtests.
		grep -E '^--- (PASS|FAIL)|requests, [0-9]+ differ|requests by status|functions reached|without the barrier|in the clear|: timing, ' "$log" |
			sed -E 's/^ +[a-z_]+_test\.go:[0-9]+: /    - /; s/; not: .*//; s/^--- /- /'
		printf -- '- attacks: %s passed, %s failed\n' "$(grep -cE '^    --- PASS' "$log" || true)" "$(grep -cE '^    --- FAIL' "$log" || true)"
	} >>"$report"
}

# Without workers a server refuses to have remote logs read by the engine.
[ $# -gt 0 ] || set -- {s3,local}/{process/never/{list,log},process/always/list,none/never/list}
for wanted in "$@"; do
	IFS=/ read -r store isolation copies reading <<<"$wanted"
	tests=$leaks
	[ "$isolation/$copies/$reading" != process/never/list ] || tests=$attacks
	run "$store" "$isolation" "$copies" "$reading" "$tests" hostile worlds
done
LAKEWARDEN_TEST_API_EXAMPLES=150 run local process never list '^TestFuzzedRequestsAreAnsweredAsDescribed$' operation
exit $status
