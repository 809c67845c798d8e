import pytest

from retro_agents.ground.schedules import scheduled


@pytest.mark.parametrize(
    ("text", "part", "factor"),
    [
        ("constant", 0.7, 1.0),
        ("linear", 0.0, 1.0),
        ("linear", 0.25, 0.75),
        ("linear", 1.5, 0.0),
        ("0:1,0.5:0.2,1:0", 0.25, 0.6),
        ("0:1,0.5:0.2,1:0", 0.75, 0.1),
    ],
)
def test_schedule_is_a_line_between_points(text, part, factor):
    assert scheduled(text, part) == pytest.approx(factor)
