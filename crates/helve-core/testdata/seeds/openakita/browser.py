"""
Browser 工具定义

覆盖网页自动化的基本动作：状态检查、启动、导航、点击、输入，
以及不经过浏览器的桌面截图。
"""

# 每个工具都是一个普通的字典，字段顺序没有意义
BROWSER_TOOLS = [
    # ---------- 状态 ----------
    {
        "name": "browser_status",
        "category": "Browser",
        "description": "Report whether a browser is running, with its current URL and tab count. "
        "When you need to: (1) Begin a web task, (2) Confirm a page is still open.",
        "detail": """返回浏览器当前的状态。

**适用场景**：
- 网页任务开始之前
- 不确定页面是否还开着的时候""",
        "triggers": [
            "When a web task is about to begin",
            "When it is unclear which page is showing",
        ],
        "prerequisites": [],
        "warnings": [
            "What an earlier message said about the browser proves nothing; ask again",
        ],
        "examples": [
            {
                "scenario": "任务开始前确认状态",
                "params": {},
                "expected": "Running or not, plus the address and the number of tabs",
            },
        ],
        "related_tools": [
            {"name": "browser_open", "relation": "call next when nothing is running"},
        ],
        "input_schema": {"type": "object", "properties": {}, "required": []},
    },
    # ---------- 启动 ----------
    {
        "name": "browser_open",
        "category": "Browser",
        "description": "Start the browser and leave it on a blank page. "
        "When you need to: (1) Prepare for web work, (2) Bring a closed browser back.",
        "detail": """启动浏览器，已经启动时不做任何事。

**参数说明**：
- visible: 显示窗口还是在后台运行""",
        "triggers": [
            "When browser_status says that nothing is running",
        ],
        "prerequisites": None,
        "warnings": [
            "Run browser_status ahead of every browser task",
            "Do not conclude from the conversation that a browser is open",
        ],
        "examples": [
            {
                "scenario": "在后台启动",
                "params": {"visible": False},
                "expected": "A headless browser is ready",
            },
        ],
        "related_tools": [
            {"name": "browser_status", "relation": "ask this first"},
            {"name": "browser_click", "relation": "a usual next step"},
            {"name": "desktop_screenshot", "relation": "for what is outside the browser"},
        ],
        "workflow": {
            "name": "Fill In A Web Page",
            "steps": [
                {"step": 1, "action": "Ask for the browser's state", "tool": "browser_status"},
                {
                    "step": 2,
                    "action": "Start the browser",
                    "tool": "browser_open",
                    "condition": "if no browser is running",
                },
                {"step": 3, "action": "Load the page", "tool": "browser_navigate"},
                {"step": 4, "action": "Work on the page", "tools": ["browser_click", "browser_type"]},
            ],
        },
        "input_schema": {
            "type": "object",
            "properties": {
                "visible": {
                    "type": "boolean",
                    "description": "是否显示浏览器窗口",
                    "default": True,
                },
            },
        },
    },
    # ---------- 导航 ----------
    {
        "name": "browser_navigate",
        "category": "Browser",
        "description": "Load a web page in the browser by its URL. "
        "When you need to: (1) Visit a site, (2) Begin work on a page. "
        "PREREQUISITE: Comes before browser_click/type. Launches the browser by itself.",
        "detail": """让浏览器加载给定的 URL。

**适用场景**：
- 需要在某个网页上操作
- 作为网页自动化流程的开头

**参数说明**：
- url: 带协议的完整地址

**注意事项**：
- 先导航，再使用 browser_click/browser_type
- 浏览器没有运行时由本工具负责启动""",

        "triggers": [
            "When a user wants to see a web page",
            "When web automation begins",
            "Ahead of every click or keystroke in a page",
        ],

        "prerequisites": [
            "None - a browser is launched on demand"
        ],

        "warnings": [
            "Clicks and typing fail until a page has been loaded with this tool"
        ],

        "examples": [
            {
                "scenario": "访问搜索网站",
                "params": {"url": "https://search.example.org"},
                "expected": "The start page of the search site is showing"
            },
            {
                "scenario": "查阅接口文档",
                "params": {"url": "https://docs.example.org/reference"},
                "expected": "The API reference is showing"
            }
        ],

        "related_tools": [
            {"name": "browser_status", "relation": "check first to be sure"},
            {"name": "browser_click", "relation": "usually follows"},
            {"name": "browser_type", "relation": "usually follows"}
        ],

        "input_schema": {
            "type": "object",
            "properties": {
                "url": {
                    "type": "string",
                    "description": "目标网页的 URL（要写明协议，例如 https://）"
                }
            },
            "required": ["url"]
        }
    },
    # ---------- 交互 ----------
    {
        "name": "browser_click",
        "category": "Browser",
        "description": "Click an element of the page, found by CSS selector or visible text. "
        "When you need to: (1) Press a button, (2) Follow a link.",
        "detail": '''点击页面上的元素，`selector` 和 `text` 至少给一个。''',
        "triggers": ["When a page must react to a press"],
        "prerequisites": [
            {
                "condition": "A browser is up",
                "check_tool": "browser_status",
                "action_if_not_met": "Start one with browser_open",
            },
        ],
        "examples": [
            {"scenario": "提交表单", "params": {"selector": "#submit"}, "expected": "The form is sent"},
            {"scenario": "按文字点击", "params": {"text": "登录"}, "expected": "The sign-in page opens"},
        ],
        "related_tools": [
            {"name": "browser_navigate", "relation": "needed before"},
            {"name": "browser_type", "relation": "often paired with"},
        ],
        "input_schema": {
            "type": "object",
            "properties": {
                "selector": {"type": "string", "description": "CSS 选择器", "default": ""},
                "text": {"type": "string", "description": "元素上显示的文字", "default": ""},
            },
        },
    },
    {
        "name": "browser_type",
        "category": "Browser",
        "description": "Type text into a field of the page. "
        "When you need to: (1) Fill in a form, (2) Enter a search term.",
        "detail": "在输入框里键入文字，" "默认先清空原有内容。",
        "triggers": ["When a field of the page needs a value"],
        "prerequisites": [
            "A browser is up (browser_status tells)",
            "The page has been loaded (use browser_navigate)",
        ],
        "examples": [
            {
                "scenario": "填写搜索框",
                "params": {"selector": "input[name='q']", "text": "天气"},
                "expected": "The field holds the text",
            },
        ],
        "related_tools": [{"name": "browser_click", "relation": "often paired with"}],
        "input_schema": {
            "type": "object",
            "properties": {
                "selector": {"type": "string", "description": "输入框的 CSS 选择器"},
                "text": {"type": "string", "description": "要键入的文字"},
                "clear": {"type": "boolean", "description": "键入之前是否清空", "default": True},
            },
            "required": ["selector", "text"],
        },
    },
    # ---------- 桌面 ----------
    {
        "name": "desktop_screenshot",
        "category": "Desktop",
        "description": "Capture the desktop or one window as an image. "
        "When you need to: (1) See a native program, (2) Record what is on the screen.",
        "detail": "截取整个桌面，或者用 `window_title` 指定的窗口。",
        "triggers": ["When the thing to look at is not a web page"],
        "examples": [
            {
                "scenario": "截取记事本窗口",
                "params": {"window_title": "Notepad"},
                "expected": "The path of the saved image",
            },
        ],
        "related_tools": [{"name": "browser_status", "relation": "use instead for web pages"}],
        "input_schema": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "图片保存到哪里", "default": "screenshot.png"},
                "window_title": {"type": "string", "description": "只截取这个标题的窗口", "default": ""},
            },
        },
    },
]
