"""A reverse proxy on the loopback that adds a token, for clients that cannot send one.

The conformance suite knows no option for headers. Everything else goes through as it came: the
lines of a head byte for byte, bodies as streams, one connection for each request. Only where the
client names the proxy itself (`Host`, `Origin`), it names the server behind it instead, so that
the server's own check of both is what is tested.
"""

import asyncio
import contextlib
import threading
import urllib.parse


@contextlib.contextmanager
def proxy(url, secret):
    """The URL under which `url` can be asked without a token."""
    ready = threading.Event()
    state = {}

    async def serve():
        target = urllib.parse.urlsplit(url)
        state["loop"] = asyncio.get_running_loop()
        state["stop"] = asyncio.Event()

        async def one(reader, writer):
            # Cancelled is how the last streams end when the rig is done.
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await pass_on(reader, writer, target, state["port"], secret)
            writer.close()

        server = await asyncio.start_server(one, "127.0.0.1", 0)
        state["port"] = server.sockets[0].getsockname()[1]
        ready.set()
        async with server:
            await state["stop"].wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield f"http://127.0.0.1:{state['port']}{urllib.parse.urlsplit(url).path}"
    finally:
        state["loop"].call_soon_threadsafe(state["stop"].set)
        thread.join(10)


async def pass_on(reader, writer, target, port, secret):
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.rstrip(b"\r\n").split(b"\r\n")
    own, there = f"127.0.0.1:{port}".encode(), target.netloc.encode()
    sent, length = [lines[0]], 0
    for line in lines[1:]:
        name, _, value = line.partition(b":")
        key = name.strip().lower()
        if key == b"content-length":
            length = int(value)
        if key == b"transfer-encoding":
            raise ConnectionError("the suite sends bodies of a known length")
        if key in (b"host", b"origin"):
            line = line.replace(own, there)
        # One request a connection, so that the end of the answer is the end of the stream.
        if key != b"connection":
            sent.append(line)
    sent += [b"Connection: close", b"Authorization: Bearer " + secret.encode()]
    body = await reader.readexactly(length)
    up_reader, up_writer = await asyncio.open_connection(target.hostname, target.port)
    try:
        up_writer.write(b"\r\n".join(sent) + b"\r\n\r\n" + body)
        await up_writer.drain()
        answer = asyncio.create_task(copy(up_reader, writer))
        # Nothing more may come from a client, except that it goes away.
        gone = asyncio.create_task(reader.read(1))
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        for task in (answer, gone):
            task.cancel()
        await asyncio.gather(answer, gone, return_exceptions=True)
    finally:
        up_writer.close()


async def copy(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
