#!/usr/bin/env bash
# browser.sh BIN installs Chromium, and into BIN/browser the package with which the tests
# control it. A copy of the lock file marks it as done.
set -euo pipefail

bin=$1
source=cmd/e2e/identity/testdata/browser
target=$bin/browser stamp=$bin/browser/.installed

if ! command -v chromium >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "installing Chromium"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends chromium >/dev/null
fi
if command -v chromium >/dev/null; then
	cmp -s "$source/package-lock.json" "$stamp" && exit 0
	echo "installing playwright-core"
	mkdir -p "$target"
	cp "$source/package.json" "$source/package-lock.json" "$target"
	if (cd "$target" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error); then
		cp "$source/package-lock.json" "$stamp"
		exit 0
	fi
fi

if [ "${CI:-}" = true ]; then
	echo "browser.sh: Chromium and playwright-core (Node.js with npm) are needed and could not be installed" >&2
	exit 1
fi
echo "browser.sh: no browser; its tests will be skipped (Debian: apt-get install chromium)" >&2
