#!/usr/bin/env bash
# python.sh VENV REQUIREMENTS creates a virtual environment with the pinned packages. A stamp
# for each requirements file marks it as done.
set -euo pipefail

venv=$1 requirements=$2
stamp=$venv/.installed-$(basename "$requirements" .txt)

if [ ! -x "$venv/bin/python" ]; then
	python3 -m venv "$venv" || {
		echo "python.sh: python3 with its venv module is needed (Debian: apt-get install python3-venv)" >&2
		exit 1
	}
fi
if ! cmp -s "$requirements" "$stamp"; then
	echo "installing $requirements into $venv"
	"$venv/bin/python" -m pip install --quiet --only-binary :all: -r "$requirements"
	cp "$requirements" "$stamp"
fi
