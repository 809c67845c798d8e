import pytest

from retro_agents.ground.errors import UserError
from retro_agents.ground.schedules import parse_schedule, scheduled


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


BAD = "falling 0 0:1, 0:1:1 0.5:1,0:0 0:1,2:0 -1:1 0:-1 0:inf 0:nan nan:1"


@pytest.mark.parametrize("text", ["", *BAD.split()])
def test_points_out_of_order_or_range_are_refused(text):
    with pytest.raises(UserError, match="bad schedule"):
        parse_schedule(text)
