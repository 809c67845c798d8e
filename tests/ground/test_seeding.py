import random

import msgspec
import numpy as np
import pytest
import torch

from retro_agents.ground.errors import UserError
from retro_agents.ground.generators import generator_state, set_generator_state
from retro_agents.ground.seeding import rng_state, seed_everything, set_rng_state
from retro_agents.run.config import from_dict
from retro_agents.run.settings import RunSettings


def draws():
    return [
        random.random(),
        random.gauss(0, 1),
        float(np.random.rand()),  # noqa: NPY002
        float(np.random.randn()),  # noqa: NPY002
        float(torch.rand(1)),
        float(torch.randn(1)),
    ]


def test_the_same_seed_gives_the_same_draws():
    seed_everything(5)
    first = draws()
    seed_everything(5)
    assert draws() == first
    seed_everything(6)
    assert draws() != first


def test_a_config_takes_every_seed_that_the_generators_take():
    seed_everything(from_dict(RunSettings, {"seed": 2**63 - 1}).seed)
    with pytest.raises(UserError, match="--seed 18446744073709551616: expected a whole number"):
        from_dict(RunSettings, {"seed": 2**64})


def test_states_go_on_exactly_even_through_msgpack():
    seed_everything(1)
    draws()
    saved = msgspec.msgpack.encode(rng_state())
    expected = draws() + draws()
    set_rng_state(msgspec.msgpack.decode(saved))
    assert draws() + draws() == expected


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.Philox, np.random.MT19937])
def test_generators_go_on_exactly(kind):
    generator = np.random.Generator(kind(3))
    generator.random(7)
    saved = msgspec.msgpack.encode(generator_state(generator))
    expected = generator.random(5)
    other = np.random.Generator(kind(99))
    set_generator_state(other, msgspec.msgpack.decode(saved))
    assert (other.random(5) == expected).all()
