#!/bin/sh
# Make the virtual environment and install what the lock names; does nothing when it is up to date.
set -eu
cd "$(dirname "$0")/.."

is_good() {
    "$1" -c 'import sys, venv; sys.exit(sys.version_info < (3, 12))' >/dev/null 2>&1
}

# The version the project is developed on comes first; pyenv's own folders are looked at too,
# because its commands refuse versions that are not switched on in this folder.
find_python() {
    for candidate in ${PYTHON:+"$PYTHON"} python3.13 python3.14 python3.12 python3 python \
        "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.13*/bin/python3 \
        "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[24]*/bin/python3; do
        if is_good "$candidate"; then
            "$candidate" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    echo "Python 3.12 or newer was not found. Install it, or name it: make PYTHON=/path/to/python3" >&2
    exit 1
}

if ! is_good .venv/bin/python; then
    python=$(find_python)
    echo "Making the virtual environment with $("$python" --version)"
    rm -rf .venv
    if ! "$python" -m venv .venv; then
        rm -rf .venv
        echo "The virtual environment could not be made; on Debian and Ubuntu install python3-venv." >&2
        exit 1
    fi
fi

lock=$(.venv/bin/python -c 'import hashlib; print(hashlib.sha256(open("requirements.lock", "rb").read()).hexdigest())')
if [ "$(cat .venv/installed-lock 2>/dev/null || true)" != "$lock" ]; then
    echo "Installing the packages of requirements.lock"
    rm -f .venv/installed-lock
    if ! .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock; then
        echo "The packages could not be installed; is the package index reachable?" >&2
        exit 1
    fi
    echo "$lock" >.venv/installed-lock
fi

# The evenhand command, callable from any folder; the project itself is not packaged.
if ! [ -x .venv/bin/evenhand ]; then
    cat >.venv/bin/evenhand <<'SCRIPT'
#!/bin/sh
venv=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
PYTHONPATH=$(dirname "$venv")${PYTHONPATH:+:$PYTHONPATH} exec "$venv/bin/python" -m cli.main "$@"
SCRIPT
    chmod +x .venv/bin/evenhand
fi
