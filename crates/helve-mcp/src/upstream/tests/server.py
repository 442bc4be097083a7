"""A server for tests: says what it is told to say.

The first argument is a JSON object of settings:
  era        "legacy" (default), "modern", "both", "dies" (ends on server/discover)
  tools      the list of tools, raw
  pages      a list of pages instead
  file       a file with the list of tools, read at every tools/list
  pid        a file to which its process id is written
  child      starts a child that would outlive it, its pid in this file
  extra      further keys of capabilities
Every line that comes is also appended to `log`, if there is one.
"""
import json, os, subprocess, sys, threading, time

settings = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
lock = threading.Lock()
answers = {}
arrived = threading.Condition()
cancelled = set()


def send(message):
    with lock:
        sys.stdout.write(json.dumps(message, ensure_ascii=False, separators=(",", ":")) + "\n")
        sys.stdout.flush()


def raw(text):
    with lock:
        sys.stdout.write(text)
        sys.stdout.flush()


def result(id, value):
    send({"jsonrpc": "2.0", "id": id, "result": value})


def error(id, code, message, **more):
    send({"jsonrpc": "2.0", "id": id, "error": dict({"code": code, "message": message}, **more)})


def ask(method, params):
    id = "srv-%d" % len(answers)
    with arrived:
        answers[id] = None
    send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    with arrived:
        while answers[id] is None:
            arrived.wait()
        return answers[id]


def tools():
    if "file" in settings:
        with open(settings["file"]) as f:
            return json.load(f)
    return settings.get("tools", [])


def text(value, **more):
    return dict({"content": [{"type": "text", "text": value}]}, **more)


def done(id, params, value):
    if modern(params):
        value = dict({"resultType": "complete"}, **value)
    result(id, value)


def modern(params):
    return "io.modelcontextprotocol/protocolVersion" in (params.get("_meta") or {})


def call(id, params):
    name, args = params["name"], params.get("arguments") or {}
    meta = params.get("_meta") or {}
    if name == "echo":
        done(id, params, text(args.get("text", "")))
    elif name == "raw":
        # Word for word what was asked for, with keys that nobody knows.
        raw('{"jsonrpc":"2.0","id":%d,"result":%s}\n' % (id, args["json"]))
    elif name == "params":
        done(id, params, text(json.dumps(params)))
    elif name == "env":
        done(id, params, text(json.dumps(dict(os.environ))))
    elif name == "die":
        sys.stderr.write("I am dying now\n")
        sys.stderr.flush()
        os._exit(7)
    elif name == "garbage":
        raw("this is not JSON\n{\"neither\": \n")
        done(id, params, text("after the garbage"))
    elif name == "neither":
        send({"jsonrpc": "2.0", "id": id})
    elif name == "never":
        while id not in cancelled:
            time.sleep(0.005)
    elif name == "huge":
        size = args["bytes"]
        raw('{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % id)
        part = "x" * 65536
        try:
            while size > 0:
                raw(part)
                size -= len(part)
            raw('"}]}}\n')
        except (BrokenPipeError, OSError):
            os._exit(0)
    elif name == "progress":
        token = meta.get("progressToken")
        for i in (1, 2, 3):
            send({"jsonrpc": "2.0", "method": "notifications/progress",
                  "params": {"progressToken": token, "progress": i, "total": 3, "odd": [i]}})
        send({"jsonrpc": "2.0", "method": "notifications/message",
              "params": {"level": "info", "data": {"b": 1, "a": 2}, "logger": "x"}})
        done(id, params, text("done"))
    elif name == "ask":
        done(id, params, text(json.dumps(ask(args["method"], args["params"]))))
    elif name == "both":
        # Asks while another call is under way: which is told by files.
        while not os.path.exists(args["until"]):
            time.sleep(0.005)
        done(id, params, text(json.dumps(ask("elicitation/create", {"message": args["message"]}))))
    elif name == "needs":
        responses = params.get("inputResponses")
        if responses is None:
            result(id, {"resultType": "input_required", "requestState": "s1",
                        "inputRequests": {"who": {"method": "elicitation/create", "params": {"message": "who?", "x": 1}}}})
        else:
            done(id, params, text(json.dumps({"responses": responses, "state": params.get("requestState")})))
    elif name == "forever":
        result(id, {"resultType": "input_required", "requestState": "again"})
    elif name == "task":
        tasks["t1"] = {"polls": 0, "cancelled": False, "input": None}
        result(id, {"resultType": "task", "taskId": "t1", "status": "working", "createdAt": "x",
                    "lastUpdatedAt": "x", "ttlMs": None, "pollIntervalMs": 20})
    elif name == "change":
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        done(id, params, text("changed"))
    elif name == "fails":
        done(id, params, text("no such city", isError=True, extra={"z": 1, "a": 2}))
    elif name == "refuses":
        error(id, args.get("code", -32602), "bad arguments", data={"why": "because"})
    else:
        error(id, -32602, "unknown tool")


tasks = {}


def task(method, id, params):
    t = tasks[params["taskId"]]
    base = {"resultType": "complete", "taskId": params["taskId"], "createdAt": "x", "lastUpdatedAt": "x", "ttlMs": None, "pollIntervalMs": 20}
    if method == "tasks/cancel":
        t["cancelled"] = True
        result(id, {"resultType": "complete"})
    elif method == "tasks/update":
        t["input"] = params["inputResponses"]
        result(id, {"resultType": "complete"})
    else:
        t["polls"] += 1
        if t["polls"] < 2:
            result(id, dict(base, status="working"))
        elif t["input"] is None:
            result(id, dict(base, status="input_required",
                            inputRequests={"ok": {"method": "elicitation/create", "params": {"message": "go on?"}}}))
        else:
            result(id, dict(base, status="completed", result=text(json.dumps(t["input"]), odd=True)))


def capabilities():
    return dict({"tools": {"listChanged": True}}, **settings.get("extra", {}))


def discover(id):
    result(id, {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities(),
                "ttlMs": 0, "cacheScope": "public", "instructions": "be kind",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "py", "version": "1"}}})


def handle(message):
    method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
    era = settings.get("era", "legacy")
    if method is None:
        with arrived:
            answers[id] = message
            arrived.notify_all()
    elif method == "server/discover":
        if era == "dies":
            os._exit(1)
        if era == "silent":
            return
        if era in ("modern", "both"):
            discover(id)
        else:
            error(id, -32601, "Method not found")
    elif method == "initialize":
        if era == "modern":
            error(id, -32601, "Method not found")
        else:
            result(id, {"protocolVersion": "2025-11-25", "capabilities": capabilities(),
                        "serverInfo": {"name": "py", "version": "1", "odd": True}, "instructions": "be kind"})
    elif method == "tools/list":
        pages = settings.get("pages")
        if settings.get("list") == "never":
            return
        if pages:
            at = int(params.get("cursor") or 0)
            page = {"tools": pages[at]}
            if at + 1 < len(pages):
                page["nextCursor"] = str(at + 1)
            elif settings.get("circle"):
                page["nextCursor"] = "1"
            result(id, page)
        else:
            result(id, {"tools": tools()})
    elif method == "tools/call":
        threading.Thread(target=call, args=(id, params), daemon=True).start()
    elif method == "resources/list":
        result(id, {"resources": [{"uri": "test://a", "name": "a", "zeta": 1, "alpha": 2}]})
    elif method == "prompts/list":
        result(id, {"prompts": []})
    elif method == "resources/read":
        result(id, {"contents": [{"uri": params["uri"], "text": "hi", "odd": {"b": 1, "a": 2}}]})
    elif method and method.startswith("tasks/"):
        task(method, id, params)
    elif method == "notifications/cancelled":
        cancelled.add(params.get("requestId"))
        if "cancelled" in settings:
            with open(settings["cancelled"] + ".new", "w") as f:
                f.write(json.dumps(params))
            os.rename(settings["cancelled"] + ".new", settings["cancelled"])
    elif method == "subscriptions/listen":
        pass
    elif id is not None:
        if method == "ping":
            result(id, {})
        else:
            error(id, -32601, "Method not found")


if "pid" in settings:
    with open(settings["pid"], "a") as f:
        f.write("%d\n" % os.getpid())
if "child" in settings:
    child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
    with open(settings["child"], "w") as f:
        f.write(str(child.pid))
if settings.get("start") == "fails":
    sys.stderr.write("no key in the configuration\n")
    sys.exit(3)
if settings.get("start") == "hangs":
    time.sleep(600)
for line in sys.stdin:
    if "log" in settings:
        with open(settings["log"], "a") as f:
            f.write(line)
    handle(json.loads(line))
if settings.get("end") == "refuses":
    time.sleep(600)
