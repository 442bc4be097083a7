#!/usr/bin/env bash
# A PostgreSQL of its own for the tests: on a Unix socket in a folder of its own, and on a port of this machine with TLS.
#
#   tests/postgres.sh start   starts it if need be, and prints its address for HELVE_TEST_POSTGRES
#   tests/postgres.sh stop    stops it and removes its folder
#
#   export HELVE_TEST_POSTGRES=$(tests/postgres.sh start)
#
# In the folder are `ca.pem`, which signed the server's certificate for `localhost` and `db.test`, and `other.pem`, which did not.
# The roles are `postgres`, who may everything, `app`, who may make things, and `reader`.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# A name for each checkout, short enough for a socket.
folder=/tmp/helve-postgres-$(printf '%s' "$here" | cksum | cut -d' ' -f1)
url() {
    echo "postgresql:///postgres?user=postgres&host=$folder&port=$(cat "$folder/port")"
}

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

# Two authorities, and a server that the first of them knows.
certificates() {
    local name key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
    cd "$folder"
    for name in ca other; do
        openssl req -x509 "${key[@]}" -days 3650 -subj "/CN=helve test $name" -keyout "$name.key" -out "$name.pem" || return
    done
    echo 'subjectAltName=DNS:localhost,DNS:db.test' >server.ext &&
        openssl req "${key[@]}" -subj '/CN=helve test server' -keyout server.key -out server.csr &&
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650 \
            -extfile server.ext -out server.pem &&
        chmod 600 server.key || return
    ((EUID != 0)) || chown postgres:postgres server.key server.pem
}

start_server() {
    # Nothing of it must survive anything, and its tests are not about the disk.
    as_user "$bin/pg_ctl" start -w -t 60 -D "$folder/data" -l "$folder/log" \
        -o "-c listen_addresses=127.0.0.1 -p $1 -k $folder -c fsync=off -c max_connections=200 \
            -c ssl=on -c ssl_cert_file=$folder/server.pem -c ssl_key_file=$folder/server.key" >/dev/null 2>&1
}

running() {
    [[ -n $bin && -d $folder/data ]] && as_user "$bin/pg_ctl" status -D "$folder/data" >/dev/null 2>&1
}

case ${1:-} in
start)
    [[ -n $bin ]] || die "there is no PostgreSQL; as root, run: apt-get install postgresql-15"
    if ! running || [[ ! -s $folder/port ]]; then
        ! running || as_user "$bin/pg_ctl" stop -m immediate -D "$folder/data" >/dev/null
        rm -rf "$folder"
        mkdir -p "$folder"
        ((EUID != 0)) || chown postgres:postgres "$folder"
        as_user "$bin/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C -N >"$folder/initdb.log" 2>&1 ||
            die "initdb failed: $(cat "$folder/initdb.log")"
        command -v openssl >/dev/null || die "there is no openssl; as root, run: apt-get install openssl"
        (certificates) >"$folder/openssl.log" 2>&1 || die "openssl failed: $(cat "$folder/openssl.log")"
        # A port that nobody has.
        for _ in 1 2 3 4 5; do
            port=$((20000 + RANDOM % 10000))
            echo "$port" >"$folder/port"
            start_server "$port" && break
        done
        running || die "it did not start: $(cat "$folder/log")"
        as_user "$bin/psql" -q -h "$folder" -p "$(cat "$folder/port")" -U postgres -c 'CREATE ROLE app LOGIN CREATEDB; CREATE ROLE reader LOGIN' postgres
    fi
    url
    ;;
stop)
    if running; then
        as_user "$bin/pg_ctl" stop -m immediate -D "$folder/data" >/dev/null
    fi
    rm -rf "$folder"
    ;;
*) die "usage: tests/postgres.sh start|stop" ;;
esac
