#!/usr/bin/env bash
# A Docker of its own for the tests: with a socket and all of its state in a folder of its own.
#
#   tests/docker.sh start   starts it if need be, and prints what tests need as variables
#   tests/docker.sh stop    stops it and removes its folder
#
#   export $(tests/docker.sh start)
#
# Its only image is made here, of a static busybox: HELVE_TEST_IMAGE is its id, and its tag
# is `helve-test:1`. Needs root.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# A name for each checkout, short enough for a socket.
folder=/tmp/helve-docker-$(printf '%s' "$here" | cksum | cut -d' ' -f1)
socket=$folder/docker.sock

die() {
    printf 'tests/docker.sh: %s\n' "$*" >&2
    exit 1
}

ask() {
    docker --host "unix://$socket" "$@"
}

pid() {
    cat "$folder/docker.pid" 2>/dev/null
}

running() {
    [[ -S $socket ]] && ask version >/dev/null 2>&1
}

# Nothing of it may be left mounted, or the folder cannot be removed.
unmount_all() {
    local point
    while read -r point; do
        umount -l "$point" 2>/dev/null || true
    done < <(awk -v at="$folder/" 'index($2, at) == 1 { print $2 }' /proc/mounts | sort -r)
}

start() {
    local tries=0
    unmount_all
    rm -rf "$folder"
    mkdir -p "$folder"
    # The bridge is the machine's: a daemon without one would take it away from others.
    dockerd --data-root "$folder/data" --exec-root "$folder/exec" --pidfile "$folder/docker.pid" \
        --host "unix://$socket" >"$folder/log" 2>&1 </dev/null &
    local started=$!
    until running; do
        kill -0 "$started" 2>/dev/null || die "it did not start: $(tail -n 5 "$folder/log")"
        tries=$((tries + 1))
        [[ $tries -lt 600 ]] || die "it does not answer after a minute: $(tail -n 5 "$folder/log")"
        sleep 0.1
    done
}

# The small root file system of the image.
pack() {
    local root=$folder/root name
    mkdir -p "$root/bin" "$root/etc"
    cp "$(command -v busybox)" "$root/bin/busybox"
    for name in $("$root/bin/busybox" --list); do
        [[ $name == busybox ]] || ln -s busybox "$root/bin/$name"
    done
    printf 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$root/etc/passwd"
    printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
    tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$root" .
}

case ${1:-} in
start)
    ((EUID == 0)) || die "it needs root"
    for program in dockerd docker busybox; do
        command -v "$program" >/dev/null ||
            die "there is no $program; as root, run: apt-get install docker.io iptables busybox-static"
    done
    running || start
    if ! ask image inspect helve-test:1 >/dev/null 2>&1; then
        pack | ask import - helve-test:1 >/dev/null
    fi
    echo "HELVE_TEST_DOCKER=unix://$socket"
    echo "HELVE_TEST_IMAGE=$(ask image inspect --format '{{.Id}}' helve-test:1)"
    ;;
stop)
    if daemon=$(pid) && kill "$daemon" 2>/dev/null; then
        for ((tries = 0; tries < 300; tries++)); do
            kill -0 "$daemon" 2>/dev/null || break
            sleep 0.1
        done
    fi
    unmount_all
    rm -rf "$folder"
    ;;
*) die "usage: tests/docker.sh start|stop" ;;
esac
