#!/usr/bin/env python3
"""A server over TLS behind a hub: it is spoken with if this machine trusts it, and only then.

usage: tls.py [--helve PATH]

The fixture server gets a door with TLS, whose certificate is by an authority made for the test and
is for `localhost`. The hub must speak with it where that authority is trusted, and must not where
it is not, or where the server is called by another name. Exits with 1 if any of it fails.
"""

import argparse
import asyncio
import contextlib
import pathlib
import ssl
import subprocess
import threading
import urllib.parse

import rig


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--helve", default=rig.HELVE, type=pathlib.Path)
    options = parser.parse_args()
    with rig.scratch() as scratch, rig.fixture() as url:
        scratch = pathlib.Path(scratch)
        authority, stranger = made(scratch, "ca"), made(scratch, "stranger")
        chain, key = certificate(scratch)
        behind = urllib.parse.urlsplit(url)
        with door(chain, key, behind.port) as port:
            path = behind.path
            cases = [
                ("trusted", f"https://localhost:{port}{path}", authority, True, "tools"),
                ("not trusted", f"https://localhost:{port}{path}", stranger, False, "invalid peer certificate"),
                ("nobody trusted", f"https://localhost:{port}{path}", scratch / "nobody.pem", False, "SSL_CERT_FILE"),
                ("another name", f"https://127.0.0.1:{port}{path}", authority, False, "certificate"),
                ("no TLS", f"https://localhost:{behind.port}{path}", authority, False, "without TLS"),
            ]
            (scratch / "nobody.pem").write_text("", "utf-8")
            return all([one(scratch, options.helve, *case) for case in cases])


def one(scratch, helve, name, url, trusted, works, expected):
    """Whether a server can be spoken with as it should."""
    folder = rig.workspace(scratch / name.replace(" ", "-"), rig.ALLOW_ALL, {"far": {"type": "http", "url": url}})
    # Whom the system trusts is told by a file; a folder of them would be read as well.
    trust = {"SSL_CERT_FILE": str(trusted), "SSL_CERT_DIR": str(scratch / "none")}
    asked = subprocess.run(
        [helve, "mcp", "test", "far"],
        cwd=folder,
        env=rig.environment(**trust),
        capture_output=True,
        text=True,
        timeout=rig.PATIENCE,
    )
    said = asked.stdout + asked.stderr
    right = (asked.returncode == 0) == works and expected in said
    print(f"{'ok' if right else 'FAILED'}: {name}")
    if not right:
        print(said)
    return right


def made(folder, name):
    """An authority."""
    place = lambda end: str(folder / f"{name}.{end}")
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", f"/CN=An authority for a test, {name}", "-keyout", place("key"), "-out", place("pem"))
    return folder / f"{name}.pem"


def certificate(folder):
    """A certificate for `localhost`, by the authority `ca`."""
    place = lambda name: str(folder / name)
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-subj", "/CN=localhost", "-keyout", place("far.key"), "-out", place("far.csr"))
    (folder / "far.ext").write_text("subjectAltName=DNS:localhost\n", "utf-8")
    openssl("x509", "-req", "-in", place("far.csr"), "-CA", place("ca.pem"), "-CAkey", place("ca.key"),
            "-CAcreateserial", "-days", "2", "-extfile", place("far.ext"), "-out", place("far.pem"))
    return folder / "far.pem", folder / "far.key"


def openssl(*words):
    done = subprocess.run(["openssl", *words], capture_output=True, text=True)
    if done.returncode:
        raise rig.Failure(f"openssl {words[0]}: {done.stderr.strip()}")


@contextlib.contextmanager
def door(chain, key, port):
    """TLS in front of a port of this machine; the port of the door."""
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(chain, key)
    loop = asyncio.new_event_loop()

    async def pass_on(reader, writer):
        with contextlib.suppress(OSError):
            while part := await reader.read(65536):
                writer.write(part)
                await writer.drain()
        writer.close()

    async def through(reader, writer):
        inside = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pass_on(reader, inside[1]), pass_on(inside[0], writer))

    # Those whose certificate is refused end in the middle of their first words.
    loop.set_exception_handler(lambda *_: None)
    server = loop.run_until_complete(asyncio.start_server(through, "127.0.0.1", 0, ssl=secure))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


if __name__ == "__main__":
    rig.finish(main)
