"""Listens to the Claude Agent SDK while a file is loaded, the real one or ours.

A server is known only to whoever makes it, so `create_sdk_mcp_server` is
wrapped; and `tool` is, so that the same file may say more of a tool (`risk`,
`timeout`) whichever of the two is there.
"""

import importlib.util
import sys

NAME = "claude_agent_sdk"

# By the identity of a tool, which lives as long as its module.
servers = {}
extras = {}
_kept = []


class _Finder:
    """Finds the SDK as everybody would, and wraps it once it is loaded."""

    def __init__(self):
        self.busy = False

    def find_spec(self, name, path=None, target=None):
        if name != NAME or self.busy:
            return None
        self.busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy = False
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                _wrap(module)

            spec.loader.exec_module = exec_module
        return spec


def _wrap(module):
    make_tool = module.tool
    make_server = module.create_sdk_mcp_server

    def tool(name, description, input_schema, annotations=None, **more):
        decorate = make_tool(name, description, input_schema, annotations)

        def remember(handler):
            made = decorate(handler)
            extras[id(made)] = more
            _kept.append(made)
            return made

        return remember

    def create_sdk_mcp_server(name, version="1.0.0", tools=None):
        for made in tools or []:
            servers.setdefault(id(made), name)
        return make_server(name=name, version=version, tools=tools)

    module.tool = tool
    module.create_sdk_mcp_server = create_sdk_mcp_server


def listen():
    sys.meta_path.insert(0, _Finder())


def is_tool(value):
    return type(value).__name__ == "SdkMcpTool" and type(value).__module__.startswith(NAME)
