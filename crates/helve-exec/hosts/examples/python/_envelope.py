"""The form in which these tools answer: data for programs, text for models."""

import json
from typing import Any, Dict, Optional


def success(data: Any, meta: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    text = json.dumps(data, ensure_ascii=False, indent=2)
    return {"ok": True, "data": data, "meta": meta or {}, "content": [{"type": "text", "text": text}]}


def failure(message: str, meta: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    text = f"error: {message}"
    return {"ok": False, "error": message, "meta": meta or {}, "content": [{"type": "text", "text": text}], "is_error": True}
