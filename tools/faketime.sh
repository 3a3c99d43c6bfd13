#!/bin/sh
# Have faketime for the faults of clocks: installed on Debian as root, otherwise its absence is said.
set -eu

command -v faketime >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing faketime for the faults of clocks"
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends faketime; } >/dev/null 2>&1 || true
fi
command -v faketime >/dev/null 2>&1 || echo "faketime is not installed: the faults of clocks will fail and say so."
