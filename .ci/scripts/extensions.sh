#!/usr/bin/env bash
# extensions.sh DIR [NAME...]: the DuckDB extensions as files, all by default,
# laid out as DuckDB's extension_directory expects:
# DIR/v<version>/<platform>/<name>.duckdb_extension
set -euo pipefail

dir=$1
shift
names=("$@")
root=$(cd "$(dirname "$0")/../.." && pwd)
requirements=$root/.ci/requirements/extensions.txt

case "$(go env GOOS)" in
darwin) platform=osx_$(go env GOARCH) ;;
*) platform=$(go env GOOS)_$(go env GOARCH) ;;
esac

# missing prints the requirements whose file is not there yet.
missing() {
	grep '^duckdb-extension-' "$requirements" | while IFS= read -r line; do
		name=${line#duckdb-extension-} version=${line##*==}
		name=${name%%==*}
		[ ${#names[@]} -eq 0 ] || [[ " ${names[*]} " == *" $name "* ]] || continue
		[ -s "$dir/v$version/$platform/$name.duckdb_extension" ] || echo "$line"
	done
}

wanted=$(missing)
[ -n "$wanted" ] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "getting $(echo "$wanted" | tr '\n' ' ')"
python3 -m venv "$work/venv"
# shellcheck disable=SC2086 # one argument a line
"$work/venv/bin/python" -m pip download --quiet --no-deps --only-binary :all: -d "$work/wheels" $wanted
"$work/venv/bin/python" - "$work/wheels" "$dir" "$platform" <<'PY'
import os, pathlib, sys, zipfile

wheels, target, platform = sys.argv[1:]
for wheel in sorted(pathlib.Path(wheels).glob("*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.endswith(".duckdb_extension"):
                continue
            path = pathlib.PurePosixPath(name)
            folder = pathlib.Path(target, path.parent.name, platform)
            folder.mkdir(parents=True, exist_ok=True)
            # Written aside and renamed: a reader never sees half a file.
            part = folder / (path.name + f".part{os.getpid()}")
            part.write_bytes(archive.read(name))
            part.chmod(0o444)
            part.rename(folder / path.name)
PY

[ -z "$(missing)" ] || {
	echo "extensions.sh: still missing in $dir: $(missing)" >&2
	exit 1
}
