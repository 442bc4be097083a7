"""Draws the plot of run.py: processor time of a call, on a logarithmic scale."""

import html
import math

WIDTH, LEFT, ROW, BAR = 760, 190, 44, 13
COLOURS = {1: "#9db4c8", 16: "#5d87ad", 64: "#23527c"}


def svg(result):
    """The whole picture as text."""
    values = [row[f"cpu_us {callers}"] for row in result.values() for callers in COLOURS]
    low = 10 ** math.floor(math.log10(max(min(values, default=1), 1)))
    high = 10 ** math.ceil(math.log10(max(max(values, default=10), 10)))
    span = math.log10(high / low) or 1
    place = lambda value: LEFT + (WIDTH - LEFT - 80) * math.log10(max(value, low) / low) / span
    height = 60 + ROW * len(result) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        '<text x="12" y="20" font-size="14">CPU µs per call, lower is better (logarithmic)</text>',
    ]
    x = LEFT
    for callers, colour in COLOURS.items():
        parts.append(f'<rect x="{x}" y="30" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{x + 15}" y="39">{callers} caller{"s" * (callers > 1)}</text>')
        x += 100
    step = low
    while step <= high:
        at = place(step)
        parts.append(f'<line x1="{at:.1f}" y1="50" x2="{at:.1f}" y2="{height - 24}" stroke="#ddd"/>')
        parts.append(f'<text x="{at:.1f}" y="{height - 8}" text-anchor="middle" fill="#666">{step:,.0f}</text>')
        step *= 10
    for number, (name, row) in enumerate(result.items()):
        top = 56 + ROW * number
        parts.append(f'<text x="{LEFT - 8}" y="{top + 24}" text-anchor="end">{html.escape(name)}</text>')
        for place_in_row, (callers, colour) in enumerate(COLOURS.items()):
            value = row[f"cpu_us {callers}"]
            y = top + BAR * place_in_row
            length = max(place(value) - LEFT, 1)
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 2}" fill="{colour}"/>')
            parts.append(f'<text x="{LEFT + length + 4:.1f}" y="{y + 10}" font-size="10">{value:,.0f}</text>')
    return "\n".join([*parts, "</svg>", ""])
