"""The picture of the house: its rooms, floor by floor, and which floor imports from which.

Floors and imports are those of tests/house, which fails if an arrow goes up.
"""

from collections.abc import Callable
from html import escape

from tests.house.test_floors import FLOORS, imports, place

WIDTH, ROW, BOX, INNER, GAP = 820, 48, 34, 500, 8
SHORT = {
    "retro_agents/__init__.py": "retro_agents",
    "retro_agents/command.py": "retro-agents",
    "retro_agents/__main__.py": "python -m retro_agents",
}


def parts() -> dict[str, Callable[[], str]]:
    return {"architecture.svg": picture}


def arrows() -> dict[int, set[int]]:
    """Floor -> floors from which it imports, without those that it also reaches through another."""
    direct: dict[int, set[int]] = {}
    for file, others in imports().items():
        floor = place(file)[0]
        direct.setdefault(floor, set()).update({place(other)[0] for other in others} - {floor})
    reached: dict[int, set[int]] = {}
    for floor in range(len(FLOORS)):  # from the ground up, as imports go down
        others = direct.get(floor, set())
        reached[floor] = others.union(*(reached[other] for other in others))
    return {
        floor: {one for one in others if not any(one in reached[via] for via in others)}
        for floor, others in direct.items()
    }


def picture() -> str:
    """The picture as SVG."""
    height = ROW * len(FLOORS) + GAP
    y = {floor: height - ROW * (floor + 1) for floor in range(len(FLOORS))}
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#7d8cab"/></marker>'
        "</defs>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff" rx="8"/>',
    ]
    side = 0
    for floor, others in sorted(arrows().items()):
        for other in sorted(others):
            side += floor - other > 1
            lines.append(arrow(y[floor], y[other], floor - other, left=side % 2 == 1))
    for floor, rooms in enumerate(FLOORS):
        width = (INNER - GAP * (len(rooms) - 1)) / len(rooms)
        for i, room in enumerate(rooms):
            x = (WIDTH - INNER) / 2 + i * (width + GAP)
            name = SHORT.get(room, room.removeprefix("retro_agents/"))
            colour = "#fdf0dc" if len(rooms) > 2 else "#e8eef9"
            lines += [
                f'<rect x="{x:.0f}" y="{y[floor]}" width="{width:.0f}" height="{BOX}" rx="6" '
                f'fill="{colour}" stroke="#5b6b8c"/>',
                f'<text x="{x + width / 2:.0f}" y="{y[floor] + 22}" text-anchor="middle" '
                f'fill="#1c2434">{escape(name)}</text>',
            ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def arrow(above: int, below: int, floors: int, *, left: bool) -> str:
    """A line down to the next floor, or beside the boxes to one further down."""
    style = 'fill="none" stroke="#7d8cab" stroke-width="1.3" marker-end="url(#tip)"'
    if floors == 1:
        return f'<path d="M{WIDTH / 2} {above + BOX} V{below}" {style}/>'
    edge = (WIDTH - INNER) / 2 if left else (WIDTH + INNER) / 2
    out = edge + (-1 if left else 1) * (20 + 11 * floors)
    a, b = above + BOX / 2, below + BOX / 2
    return f'<path d="M{edge} {a} C{out} {a} {out} {b} {edge} {b}" {style}/>'
