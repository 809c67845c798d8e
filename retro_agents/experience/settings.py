"""Settings of what agents learn from: a section of their configs."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retro_agents.contract.envs import EnvSpec
from retro_agents.ground.ranges import Share, check
from retro_agents.run.fields import learning

if TYPE_CHECKING:
    from retro_agents.experience.augmentation import Augmentation


@dataclass(frozen=True)
class AugmentationSettings:
    """What is learned from."""

    augment: str = learning("", group="What is learned from")
    """Augmentations of the images learned from, not of those acted on, in order, separated by
    commas: flip, rotate, resized-crop, zoom, roll, pad-crop, cutout, cutout-colour, grey, jitter,
    convolution."""
    augment_share: Share = learning(0.3, only_with="augment")
    """Fraction of the observations that each augmentation changes, drawn anew each time."""

    def __post_init__(self) -> None:
        check(self)

    def make(self, spec: EnvSpec) -> "Augmentation | None":
        """The augmentation of such images; None without any. Raises UserError if it is unknown, or
        not for them."""
        if not self.augment:
            return None
        from retro_agents.experience.augmentation import Augmentation  # PyTorch, slow to import

        return Augmentation(self.augment, share=self.augment_share, colours=spec.channels)
