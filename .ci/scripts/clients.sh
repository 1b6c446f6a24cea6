#!/usr/bin/env bash
# clients.sh BIN [GO TEST FLAGS]: gets public OAuth and OpenID clients and has them sign people in at a
# real server. Node.js with npm and the parts of `make test-deps` must be there.
set -euo pipefail

: "${TAGS:?}" "${LAKEWARDEN_TEST_PYTHON:?}"
mkdir -p "$1"
bin=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.."

# Nothing may be left out: a part that is missing is a failure.
export CI=true LAKEWARDEN_TEST_CLIENTS=$bin/clients
.ci/scripts/npmserver.sh "$bin" clients cmd/e2e/clients/testdata/clients
.ci/scripts/python.sh "$(dirname "$(dirname "$LAKEWARDEN_TEST_PYTHON")")" .ci/requirements/clients.txt
go test -tags "$TAGS,clients" -count 1 -timeout 15m "$@" ./cmd/e2e/clients
