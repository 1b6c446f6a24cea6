#!/usr/bin/env bash
# s3.sh BIN: versitygw, the S3 server that the tests start on loopback, in the
# folder BIN. A stamp with the version makes a second call free.
set -euo pipefail

bin=$1
module=github.com/versity/versitygw version=v1.8.0
stamp=$bin/.versitygw

[ -x "$bin/versitygw" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$version" ] && exit 0
echo "building versitygw $version"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! (cd "$work" && GOFLAGS='' GOBIN=$work go install "$module/cmd/versitygw@$version"); then
	if [ "${CI:-}" = true ]; then
		echo "s3.sh: versitygw is needed and could not be built" >&2
		exit 1
	fi
	echo "s3.sh: no versitygw; the tests of S3 will be skipped" >&2
	exit 0
fi
mkdir -p "$bin"
mv "$work/versitygw" "$bin/versitygw"
echo "$version" >"$stamp"
