"""{{NAME}}: a tool of Helve. `helve test {{NAME}}` runs its examples,
`helve call {{NAME}} text='one two'` calls it."""


def {{ACTION}}(text: str) -> dict:
    """Counts the words and letters of a text. Use it to know how long a text is.

    Args:
        text: The text
    """
    words = text.split()
    return {"words": len(words), "letters": len("".join(words))}


# What else its definition says.
{{ACTION}}.helve = {
    "risk": "read",
    "examples": [
        {
            "scenario": "Two words",
            "params": {"text": "one two"},
            "expected": '{"words": 2, "letters": 6}',
        },
    ],
}
