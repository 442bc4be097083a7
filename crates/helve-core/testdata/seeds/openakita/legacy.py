"""
旧格式的工具定义

场景、前置条件、警告都写在 description 里，示例写在 detail 里，
没有单独的 triggers / prerequisites / warnings / examples 字段。
"""

LEGACY_TOOLS = [
    {
        "name": "browser_new_tab",
        "description": "Open another tab on a URL. When you need to: (1) Keep the current page, "
        "(2) Compare two pages. PREREQUISITE: A browser must be up.",
        "detail": """在新的标签页里打开网页。

**参数说明**：
- url: 要打开的地址
- wait_load: 等到页面加载完再返回

**示例**：
- 打开首页：`{"url": "https://www.example.org"}`
- 打开本地网页，不等待：`{"url": "file:///srv/pages/index.html", "wait_load": false}`
""",
        "input_schema": {
            "type": "object",
            "properties": {
                "url": {
                    "type": "string",
                    "description": "新标签页的 URL",
                },
                "wait_load": {
                    "type": "boolean",
                    "description": "加载完成后才返回",
                    "default": True,
                },
            },
            "required": ["url"],
        },
    },
    {
        "name": "run_shell",
        "description": "Run a command in the system shell. When you need to: (1) Build or test a project, "
        "(2) Inspect the machine, (3) Start a script. "
        "IMPORTANT: A destructive command cannot be taken back.",
        "detail": """Runs one command and returns what it printed.

**Notes**:
- Long commands need a larger timeout.

**Examples**:

List a folder:

```json
{"command": "ls -la"}
```

Run the tests elsewhere, with more time:

```json
{"command": "make test", "working_directory": "/srv/app", "timeout": 300}
```
""",
        "input_schema": {
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The command to run"},
                "working_directory": {"type": "string", "description": "Where to run it"},
                "timeout": {"type": "integer", "description": "Limit in seconds", "default": 60},
            },
            "required": ["command"],
        },
    },
    {
        "name": "add_memory",
        "description": "Store a fact for later conversations. When you need to: (1) Keep a preference, "
        "(2) Note an outcome. PREREQUISITE: The fact must come from the user. "
        "IMPORTANT: Never store passwords. IMPORTANT: Look for a duplicate first.",
        "detail": '''写入一条长期记忆。

**使用方法**：
- 记住偏好：`{"content": "喜欢简短的回答", "type": "preference"}`
- 记住重要事实：`{"content": "服务器在法兰克福", "type": "fact", "importance": 0.9}`
''',
        "input_schema": {
            "type": "object",
            "properties": {
                "content": {"type": "string", "description": "记忆的内容"},
                "type": {
                    "type": "string",
                    "enum": ["fact", "preference", "skill", "error", "rule"],
                    "description": "记忆的类型",
                },
                "importance": {
                    "type": "number",
                    "description": "重要程度，0 到 1",
                    "default": 0.5,
                },
            },
            "required": ["content"],
        },
    },
]
