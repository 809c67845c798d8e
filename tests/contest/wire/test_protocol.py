import json

import numpy as np
import pytest

from retro_agents.contest.wire.protocol import (
    ERRORS,
    GymRemoteError,
    Malformed,
    describe,
    read_description,
    read_trouble,
    unfold,
)
from retro_agents.games.retro.contest_env import fold


def test_buttons_fold_and_shapes_of_2018_are_understood():
    buttons = np.zeros(12, np.int8)
    buttons[[0, 7]] = 1
    assert fold(buttons) == 129
    assert all(fold(unfold(number, 12)) == number for number in range(4096))
    assert read_description(description(GOOD_AC, GOOD_OB)) == (3, (224, 320, 3))
    older = '(224, 320, 3), dtype("uint8")'
    assert read_description(description("[2, 2]", older)) == (2, (224, 320, 3))


def test_exceptions_have_the_numbers_and_families_of_2018():
    names = ["GymRemote", "TimestepTimeout", "WallClockTimeout", "ClientDisconnect"]
    names += ["ServerDisconnect", "Reset"]
    assert [error.__name__ for error in ERRORS] == [f"{name}Error" for name in names]
    assert [error.ID for error in ERRORS] == list(range(6))
    assert [issubclass(error, TimeoutError) for error in ERRORS] == [0, 1, 1, 0, 0, 0]
    assert [issubclass(error, BrokenPipeError) for error in ERRORS] == [0, 0, 0, 1, 1, 0]


@pytest.mark.parametrize(
    ("content", "kind", "why"),
    [
        *((b'{"reason": "why", "exception": %d}' % n, ERRORS[n], "why") for n in range(6)),
        *((text, GymRemoteError, "") for text in (b"7", b'{"exception": 99}', b"{")),
        (b'{"exception": "0"}', GymRemoteError, ""),
    ],
)
def test_trouble_of_any_kind_becomes_its_exception(content, kind, why):
    error = read_trouble(content)
    assert type(error) is kind
    assert why in str(error)


def description(ac, ob):
    channels = describe(buttons=12, shape=(6, 8, 3))
    channels["ac"][1], channels["ob"][1] = ac, ob
    return json.dumps(channels).encode()


GOOD_AC, GOOD_OB = "[2, 2, 2],", '(224, 320, 3), dtype("|u1")'


@pytest.mark.parametrize(
    ("ac", "ob"),
    [
        ("__import__('os').abort(),", GOOD_OB),
        (GOOD_AC, "__import__('os').abort()"),
        (GOOD_AC, '(224, 320, 3), dtype("float64")'),
        (GOOD_AC, '(0, 320, 3), dtype("|u1")'),
        (GOOD_AC, '(99999, 320, 3), dtype("|u1")'),
        ("[2, 3],", GOOD_OB),
    ],
)
def test_other_shapes_are_refused_and_never_evaluated(ac, ob):
    with pytest.raises(Malformed):
        read_description(description(ac, ob))
