import pytest

from experiment.config import replaced
from rainbow.agent import RainbowAgent, make_net
from rainbow.config import RainbowConfig

SMALL = replaced(RainbowConfig(), image_height=36, image_width=36, hidden=32, atoms=11)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "auto"])
def test_on_a_cpu_it_acts_in_fp32_whatever_the_precision(precision):
    """A bf16 learner's weights would be cast for a few observations at every step."""
    config = replaced(SMALL, precision=precision)
    assert not RainbowAgent(make_net(config), config, device="cpu").half
