#!/usr/bin/env bash
# A PostgreSQL of its own for the tests: on a Unix socket in a folder of its own, not on the network.
#
#   tests/postgres.sh start   starts it if need be, and prints its address for HELVE_TEST_POSTGRES
#   tests/postgres.sh stop    stops it and removes its folder
#
#   export HELVE_TEST_POSTGRES=$(tests/postgres.sh start)
#
# The roles are `postgres`, who may everything, `app`, who may make things, and `reader`.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# A name for each checkout, short enough for a socket.
folder=/tmp/helve-postgres-$(printf '%s' "$here" | cksum | cut -d' ' -f1)
url="postgresql:///postgres?user=postgres&host=$folder"

die() {
    printf 'tests/postgres.sh: %s\n' "$*" >&2
    exit 1
}

bin=
for found in "${POSTGRES_BIN:-}" /usr/lib/postgresql/15/bin /usr/lib/postgresql/*/bin; do
    if [[ -x $found/initdb ]]; then
        bin=$found
        break
    fi
done

# It refuses to run as root.
as_user() {
    if ((EUID == 0)); then
        (cd / && setpriv --reuid=postgres --regid=postgres --init-groups "$@")
    else
        "$@"
    fi
}

running() {
    [[ -n $bin && -d $folder/data ]] && as_user "$bin/pg_ctl" status -D "$folder/data" >/dev/null 2>&1
}

case ${1:-} in
start)
    [[ -n $bin ]] || die "there is no PostgreSQL; as root, run: apt-get install postgresql-15"
    if ! running; then
        rm -rf "$folder"
        mkdir -p "$folder"
        ((EUID != 0)) || chown postgres:postgres "$folder"
        as_user "$bin/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C -N >"$folder/initdb.log" 2>&1 ||
            die "initdb failed: $(cat "$folder/initdb.log")"
        # Nothing of it must survive anything, and its tests are not about the disk.
        as_user "$bin/pg_ctl" start -w -t 60 -D "$folder/data" -l "$folder/log" \
            -o "-c listen_addresses='' -k $folder -c fsync=off -c max_connections=200" >/dev/null ||
            die "it did not start: $(cat "$folder/log")"
        as_user "$bin/psql" -q -h "$folder" -U postgres -c 'CREATE ROLE app LOGIN CREATEDB; CREATE ROLE reader LOGIN' postgres
    fi
    echo "$url"
    ;;
stop)
    if running; then
        as_user "$bin/pg_ctl" stop -m immediate -D "$folder/data" >/dev/null
    fi
    rm -rf "$folder"
    ;;
*) die "usage: tests/postgres.sh start|stop" ;;
esac
