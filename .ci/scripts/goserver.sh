#!/usr/bin/env bash
# goserver.sh BIN NAME MODULE VERSION [PACKAGE] builds a server that the tests start on loopback
# as BIN/NAME. A stamp with the version marks it as done.
set -euo pipefail

bin=$1 name=$2 version=$4 package=$3${5:+/$5}
stamp=$bin/.$name

[ -x "$bin/$name" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$version" ] && exit 0
echo "building $name $version"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! (cd "$work" && GOFLAGS='' GOBIN=$work go install "$package@$version"); then
	if [ "${CI:-}" = true ]; then
		echo "goserver.sh: $name is needed and could not be built" >&2
		exit 1
	fi
	echo "goserver.sh: no $name; its tests will be skipped" >&2
	exit 0
fi
mkdir -p "$bin"
mv "$work/$name" "$bin/$name"
echo "$version" >"$stamp"
