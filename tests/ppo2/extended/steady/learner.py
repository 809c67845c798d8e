from torch import Tensor

from ppo2.learner import Learner
from retro_agents.experience.rollouts import Batch


class SteadyLearner(Learner):
    def losses(self, mb: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """PPO2's, and the policy's divergence from itself when images [B,H,W,C] move."""
        loss, metrics = super().losses(mb)
        still, moved = (self.log_policy(images, mb) for images in (mb.obs, mb.obs.roll(2, dims=2)))
        divergence = (still.exp() * (still - moved)).sum(dim=1).mean()
        return loss + self.config.steadiness * divergence, {**metrics, "divergence": divergence}

    def log_policy(self, images: Tensor, mb: Batch) -> Tensor:
        """Log-probabilities [B,A]."""
        logits, *_ = self.net(images.permute(0, 3, 1, 2), state=mb.states, starts=mb.starts)
        return logits.log_softmax(dim=1)
