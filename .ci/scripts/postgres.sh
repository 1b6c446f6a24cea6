#!/usr/bin/env bash
# postgres.sh: makes sure that PostgreSQL's server programs are installed. The
# tests start a server of their own from them, on loopback, in a temp folder.
set -euo pipefail

found() {
	command -v initdb >/dev/null && return
	compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

found && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "installing PostgreSQL"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends postgresql >/dev/null
fi
found && exit 0

if [ "${CI:-}" = true ]; then
	echo "postgres.sh: PostgreSQL is needed and could not be installed" >&2
	exit 1
fi
echo "postgres.sh: no PostgreSQL found; its tests will be skipped (Debian: apt-get install postgresql)" >&2
