#!/bin/sh
# Install the programs that tests run, where the machine has none: Chromium, GNU Octave, pdflatex, and
# OpenGL without a display (EGL or OSMesa) for videos.
# Debian: with apt-get. Elsewhere: say what to install and continue, since only some tests need them;
# those fail and say so.
set -eu

[ -r /etc/os-release ] && id=$(. /etc/os-release && echo "${ID:-}") || id=""

has() {
    for name in "$@"; do
        if command -v "$name" >/dev/null 2>&1; then return 0; fi
    done
    return 1
}

has_chromium() {
    has chromium chromium-browser google-chrome google-chrome-stable chrome ||
        { [ -n "${BRAZO_CHROMIUM:-}" ] && [ -x "$BRAZO_CHROMIUM" ]; } ||
        [ -x "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" ] ||
        [ -x "/Applications/Chromium.app/Contents/MacOS/Chromium" ]
}

has_library() {
    PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null | grep -q "$1"
}

# macOS and Windows have OpenGL.
has_opengl() {
    [ "$(uname -s)" != Linux ] || has_library libOSMesa.so ||
        { has_library libEGL.so.1 && has_library libEGL_ && has_library libOpenGL.so.0; }
}

missing=""
packages=""
if ! has_chromium; then
    missing="Chromium or Google Chrome (or set BRAZO_CHROMIUM to its executable)"
    packages="chromium"
fi
# Pages load faster in the shell without windows, which only Debian packages; it has no camera and no sensors.
if [ "$id" = debian ] && ! has chromium-headless-shell; then
    missing="${missing:+$missing, }Chromium's headless shell"
    packages="$packages chromium-headless-shell"
fi
if ! has octave-cli; then
    missing="${missing:+$missing, }GNU Octave (octave-cli)"
    packages="$packages octave"
fi
if ! has pdflatex; then
    missing="${missing:+$missing, }pdflatex (with amsmath, geometry, longtable)"
    packages="$packages texlive-latex-base"
fi
if ! has_opengl; then
    missing="${missing:+$missing, }OpenGL without a display (EGL or OSMesa)"
    packages="$packages libegl1 libegl-mesa0 libgl1-mesa-dri libopengl0"
fi
[ -n "$packages" ] || exit 0

advice() {
    echo "brazo: $1 Some tests need: $missing." >&2
    echo "brazo: Install them to run these tests. Everything else works without." >&2
    exit 0
}

[ "$id" = debian ] || advice "this is not Debian."

if [ "$(id -u)" -eq 0 ]; then
    as_root=""
elif command -v sudo >/dev/null 2>&1; then
    as_root="sudo"
else
    advice "there is neither root nor sudo to install with apt-get."
fi

echo "installing Debian's packages for the tests:" $packages
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $packages
