"""Scheduled 工具定义：到点才执行的任务。"""

SCHEDULED_TOOLS = [
    {
        "name": "schedule_task",
        "category": "Scheduled",
        "description": "Plan a task for later, once or repeatedly. "
        "When you need to: (1) Set a reminder, (2) Run work on a timetable.",
        "detail": """登记一个以后执行的任务。

**参数说明**：
- task_type: `reminder` 只发消息，`task` 会真正执行
- trigger_type: `once`、`interval` 或 `cron`
- trigger_config: 与触发方式对应的设置""",
        "triggers": ["When a user asks for something at a later time"],
        "prerequisites": ["The time has been agreed with the user"],
        "examples": [
            {
                "scenario": "每天早上九点提醒",
                "params": {
                    "name": "standup",
                    "description": "提醒参加晨会",
                    "task_type": "reminder",
                    "trigger_type": "cron",
                    "trigger_config": {"cron": "0 9 * * *"},
                },
                "expected": "The id of the new task",
            },
        ],
        "related_tools": [
            {"name": "browser_navigate", "relation": "often what the task does"},
        ],
        "input_schema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "任务名称"},
                "description": {"type": "string", "description": "任务要做的事"},
                "task_type": {
                    "type": "string",
                    "enum": ["reminder", "task"],
                    "description": "任务种类",
                },
                "trigger_type": {
                    "type": "string",
                    "enum": ["once", "interval", "cron"],
                    "description": "触发方式",
                },
                "trigger_config": {
                    "type": "object",
                    "description": "触发设置",
                    "properties": {
                        "run_at": {"type": "string", "description": "一次性任务的时间"},
                        "interval_minutes": {"type": "integer", "description": "间隔的分钟数"},
                        "cron": {"type": "string", "description": "cron 表达式"},
                    },
                },
            },
            "required": ["name", "description", "task_type", "trigger_type", "trigger_config"],
        },
    },
]
