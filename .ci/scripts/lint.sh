#!/usr/bin/env bash
# lint.sh: gofmt, golangci-lint and shellcheck.
set -euo pipefail

: "${TAGS:?}"
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
version=v2.15.0
linter=bin/golangci-lint-$version

if [ ! -x "$linter" ]; then
	echo "building golangci-lint $version"
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	(cd "$work" && GOFLAGS='' GOBIN=$work go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version")
	mkdir -p bin && mv "$work/golangci-lint" "$linter"
fi

status=0
"$linter" run --allow-parallel-runners --build-tags "$TAGS" ./... || status=1
bin/venv/bin/shellcheck .ci/run .ci/scripts/*.sh || status=1
exit $status
