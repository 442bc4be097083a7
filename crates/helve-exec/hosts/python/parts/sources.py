"""What only the source of a file says, and the running module does not.

Comments behind the parameters of `@tool(…)` are their descriptions, as the
people who use that form write them; and a server is often made in a function
that nobody calls here.
"""

import ast
import io
import tokenize


class Source:
    def __init__(self, text):
        self.comments = {}
        self.servers = {}
        try:
            tree = ast.parse(text)
            comments = _comments(text)
        except (SyntaxError, ValueError, RecursionError, tokenize.TokenError):
            return  # The file has been loaded; what cannot be found is not said.
        lines = text.splitlines()
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for call in node.decorator_list:
                    if _is_call(call, "tool"):
                        self.comments[node.name] = _described(call, comments, lines)
            elif _is_call(node, "create_sdk_mcp_server"):
                name, tools = _server(node)
                for tool in tools if name else []:
                    self.servers.setdefault(tool, name)


def _is_call(node, name):
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    return getattr(called, "id", None) == name or getattr(called, "attr", None) == name


def _comments(text):
    """The comment of each line, with the column where it begins."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {
        token.start[0]: (token.start[1], token.string[1:].strip())
        for token in tokens
        if token.type == tokenize.COMMENT
    }


def _argument(call, position, *names):
    for keyword in call.keywords:
        if keyword.arg in names:
            return keyword.value
    return call.args[position] if len(call.args) > position else None


def _described(call, comments, lines):
    """The comment behind each parameter, where nothing but a comma stands between."""
    found = {}
    parameters = _argument(call, 2, "input_schema")
    if not isinstance(parameters, ast.Dict):
        return found
    for key, value in zip(parameters.keys, parameters.values):
        column, text = comments.get(value.end_lineno, (None, None))
        if not text or not isinstance(key, ast.Constant):
            continue
        # Columns of the tree count bytes, those of comments characters.
        line = lines[value.end_lineno - 1]
        behind = line.encode("utf-8")[value.end_col_offset :].decode("utf-8")
        if behind[: len(behind) - len(line[column:])].strip() in ("", ","):
            found[key.value] = text
    return found


def _server(call):
    name = _argument(call, 0, "name")
    tools = _argument(call, 2, "tools")
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return None, []
    items = tools.elts if isinstance(tools, (ast.List, ast.Tuple)) else []
    return name.value, [item.id for item in items if isinstance(item, ast.Name)]
