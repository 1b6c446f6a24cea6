#!/usr/bin/env bash
# interop.sh BIN REPORT [GO TEST FLAGS]: gets Spark into BIN/spark and lets it,
# delta-rs and DuckDB judge what the server writes. The outcome goes to REPORT, and
# that of the conformance corpus to docs/reports.
# Java, Maven and the parts of `make test-deps` must be there.
set -euo pipefail

: "${TAGS:?}" "${LAKEWARDEN_TEST_PYTHON:?}"
mkdir -p "$1"
bin=$(cd "$1" && pwd) report=$PWD/$2
shift 2
cd "$(dirname "$0")/../.."
requirements=.ci/requirements
stamp=$bin/spark/.installed

for program in java mvn; do
	command -v "$program" >/dev/null || {
		echo "interop.sh: $program is needed (Debian: apt-get install default-jre-headless maven)" >&2
		exit 1
	}
done

wanted=$(cat $requirements/spark*)
if [ "$wanted" != "$(cat "$stamp" 2>/dev/null)" ]; then
	echo "installing Spark into $bin/spark"
	rm -rf "$bin/spark"
	mkdir -p "$bin/spark"
	"$LAKEWARDEN_TEST_PYTHON" -m pip install --quiet --no-deps --require-hashes --target "$bin/spark/python" -r $requirements/spark.txt
	# Jars that Spark already contains are excluded.
	mvn -q -B -f $requirements/spark-jars.xml dependency:copy-dependencies -DoutputDirectory="$bin/spark/jars" \
		-DincludeGroupIds=io.delta,io.unitycatalog,org.apache.hadoop,software.amazon.awssdk,software.amazon.eventstream,org.reactivestreams \
		-DexcludeArtifactIds=hadoop-client-api,hadoop-client-runtime
	(cd "$bin/spark/jars" && sha256sum --check --strict --quiet) <$requirements/spark-jars.sha256
	echo "$wanted" >"$stamp"
fi

# Nothing may be left out: a part that is missing is a failure.
export LAKEWARDEN_TEST_CONFORMANCE_REPORT=$PWD/docs/reports
export CI=true LAKEWARDEN_TEST_SPARK=$bin/spark LAKEWARDEN_TEST_SERVER=$bin/lakewarden LAKEWARDEN_TEST_INTEROP_REPORT=$report
go test -tags "$TAGS,interop" -count 1 -timeout 90m "$@" ./cmd/interop
