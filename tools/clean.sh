#!/bin/sh
# Remove what make has made, after asking: the virtual environment and all data of this folder.
set -eu
cd "$(dirname "$0")/.."

if [ -f var/state.json ]; then
    echo "Evenhand seems to be running here: stop it first (or remove var/state.json if it was killed)." >&2
    exit 1
fi
elsewhere=$(cat var/elsewhere 2>/dev/null || true)
case $elsewhere in
/*/evenhand-*) ;;
*) elsewhere= ;;
esac
printf 'Remove .venv, var%s with all data? [y/N] ' "${elsewhere:+ and $elsewhere}"
read -r answer
case $answer in
y | Y | yes) rm -rf .venv var ${elsewhere:+"$elsewhere"} ;;
*) echo "Nothing was removed." ;;
esac
