#!/usr/bin/env bash
# suites.sh REPORT [RUN...]: the whole suites of leaks and attacks in every way in which
# a table can be read: from local disk and over S3, with the engine in processes of its
# own and without, in place and always from copies, as lists of files and by the engine's
# own reader of logs; and over Azure and Google Cloud Storage in the most common of these
# ways, because the engine reads every remote store through the same gateway. Each run
# also measures whether times reveal hidden values. The summaries of the tests go to
# REPORT. A RUN is store/isolation/copies/reading, such as gcs/process/never/list; without
# any, all are run, with the attacks on resources, and then the long run of the fuzzer of
# the API. The attacks that bypass the guard run once.
set -euo pipefail

: "${TAGS:?}"
report=$1
shift
programs=$(mktemp -d)
log=$(mktemp)
trap 'rm -rf "$programs" "$log"' EXIT
folders=(cmd/e2e/hostile cmd/e2e/worlds engine/worker)
[ $# -gt 0 ] || folders+=(cmd/e2e/operation)
for folder in "${folders[@]}"; do
	go test -tags "$TAGS" -vet off -ldflags '-s -w' -c -o "$programs/${folder##*/}" "./$folder"
done

# Only workers bound the aggregates that the engine does not account for, so the attacks on
# resources run only with workers, and not if runs are chosen: the tests have those of each
# kind.
leaks='^(TestTwoWorlds.*|TestHostileStatements.*)$'
attacks='^(TestTwoWorlds.*|TestHostileStatements.*|TestResourceAttacksEndInTime)$'

{
	echo "# Suites of leaks and attacks"
	echo
	echo "Made by \`make suites\` on $(date -u +%F), DuckDB $(sed -n 's/^engine //p' engine/sqlguard/leakproof/leakproof.txt | head -1), $(nproc) cores. One block a run: store, isolation, copies, reading."
} >"$report"

status=0
run() { # store isolation copies reading tests folder...
	local verdict=passed began=$SECONDS folder
	: >"$log"
	for folder in "${@:6}"; do
		(cd "$folder" && LAKEWARDEN_TEST_STORE=$1 LAKEWARDEN_TEST_ISOLATION=$2 LAKEWARDEN_TEST_COPIES=$3 LAKEWARDEN_TEST_READING=$4 LAKEWARDEN_TEST_TIMING=1 \
			"$programs/${folder##*/}" -test.v -test.timeout 30m -test.run "$5") >>"$log" 2>&1 || verdict=FAILED
	done
	echo "suites: $1 $2 $3 $4: $verdict, $((SECONDS - began)) s"
	[ "$verdict" = passed ] || { status=1 && grep -av '^=== ' "$log" | tail -60; }
	{
		echo
		echo "## $1, isolation $2, copies $3, $4: $verdict"
		echo
		# The tests' own summaries, without file names and times of subtests.
		grep -aE '^--- (PASS|FAIL)|requests, [0-9]+ differ|requests by status|functions reached|without the barrier|in the clear|: timing, ' "$log" |
			sed -E 's/^ +[a-z_]+_test\.go:[0-9]+: /    - /; s/; not: .*//; s/^--- /- /'
		printf -- '- attacks: %s passed, %s failed\n' "$(grep -acE '^    --- PASS' "$log" || true)" "$(grep -acE '^    --- FAIL' "$log" || true)"
	} >>"$report"
}

whole=
# Without workers a server refuses to have remote logs read by the engine.
[ $# -gt 0 ] || { whole=yes && set -- {azure,gcs}/process/never/list {s3,local}/{process/never/{list,log},process/always/list,none/never/list}; }
for wanted in "$@"; do
	IFS=/ read -r store isolation copies reading <<<"$wanted"
	tests=$leaks
	[ -z "$whole" ] || [ "$isolation/$copies/$reading" != process/never/list ] || tests=$attacks
	run "$store" "$isolation" "$copies" "$reading" "$tests" cmd/e2e/hostile cmd/e2e/worlds
done
run local process never list '^TestAttacksStayWithinTheirLease$' engine/worker
[ -z "$whole" ] || LAKEWARDEN_TEST_API_EXAMPLES=150 run local process never list '^TestFuzzedRequestsAreAnsweredAsDescribed$' cmd/e2e/operation
exit $status
