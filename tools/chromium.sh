#!/bin/sh
# Bring a Chromium for the browser tests when the machine has none.
# Debian: installed with apt-get. Elsewhere: say what to install and go on, since only the browser
# tests need it and they say so themselves.
set -eu

for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
    if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if [ -n "${BRAZO_CHROMIUM:-}" ] && [ -x "$BRAZO_CHROMIUM" ]; then exit 0; fi
if [ -x "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" ]; then exit 0; fi
if [ -x "/Applications/Chromium.app/Contents/MacOS/Chromium" ]; then exit 0; fi

advice() {
    echo "brazo: $1 The browser tests need Chromium or Google Chrome: install one," >&2
    echo "brazo: or set BRAZO_CHROMIUM to its executable. Everything else works without." >&2
    exit 0
}

[ -r /etc/os-release ] && id=$(. /etc/os-release && echo "${ID:-}") || id=""
[ "$id" = debian ] || advice "no Chromium found, and this is not Debian."

if [ "$(id -u)" -eq 0 ]; then
    as_root=""
elif command -v sudo >/dev/null 2>&1; then
    as_root="sudo"
else
    advice "no Chromium found, and neither root nor sudo to install it with apt-get."
fi

echo "installing Debian's chromium for the browser tests"
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium
