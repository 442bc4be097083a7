"""Plain functions: their types and docstrings say all that a tool needs."""

import datetime
import enum
import re
from pathlib import Path
from typing import List, Optional


class Unit(enum.Enum):
    CELSIUS = "celsius"
    FAHRENHEIT = "fahrenheit"


def word_count(path: Path, longest: int = 5) -> dict:
    """Count the words of a text file.

    Args:
        path: The file, relative to the project.
        longest: How many of the longest words to list.
    """
    words = re.findall(r"\w+", path.read_text(encoding="utf-8"))
    ordered = sorted(set(words), key=lambda word: (-len(word), word))
    return {"words": len(words), "different": len(set(words)), "longest": ordered[:longest]}


def convert_temperature(degrees: float, unit: Unit = Unit.CELSIUS) -> float:
    """Turn a temperature into the other unit.

    Parameters
    ----------
    degrees : float
        The temperature.
    unit : Unit
        The unit that it is in now.
    """
    if unit is Unit.CELSIUS:
        return degrees * 9 / 5 + 32
    return (degrees - 32) * 5 / 9


async def days_between(first: datetime.date, last: Optional[datetime.date] = None) -> int:
    """Count the days from one date to another.

    :param first: the day to count from
    :param last: the day to count to; today if left out
    """
    return ((last or datetime.date.today()) - first).days


def slugs(titles: List[str]) -> List[str]:
    """Make names for files out of titles."""
    return [_slug(title) for title in titles]


def _slug(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower()).strip("-")
