#!/bin/sh
# Have Chromium for the browser tests: installed on Debian as root, otherwise its absence is said.
set -eu

for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Chromium for the browser tests"
    log=$(mktemp)
    if { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        chromium fonts-noto-core; } >"$log" 2>&1 && command -v chromium >/dev/null 2>&1; then
        rm -f "$log"
        exit 0
    fi
    tail -n 3 "$log"
    rm -f "$log"
    echo "Chromium could not be installed: the browser tests will be skipped."
    exit 0
fi
echo "Chromium is not installed: the browser tests will be skipped."
