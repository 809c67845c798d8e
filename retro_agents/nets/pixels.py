"""The first layers of encoders: uint8 images in, pixels in [0,1]."""

import torch
from torch import Tensor, nn


def laid_out(obs: Tensor, dtype: torch.dtype) -> Tensor:
    """Casts uint8 [B,C,H,W] to autocast's type if it is on, otherwise to `dtype`; channels last."""
    device = obs.device.type
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
    return obs.contiguous(memory_format=torch.channels_last).to(dtype)


class PixelConv(nn.Conv2d):
    """A first convolution that takes uint8 [B,C,H,W] as pixels in [0,1], less `shift` / 255.

    It divides the few weights by 255 instead of the many pixels; -255…255 are exact in bf16. Images
    are laid out channels last, the faster layout on CPUs and GPUs.
    """

    shift = 0

    def forward(self, obs: Tensor) -> Tensor:
        weight = self.weight * (1.0 / 255.0)
        block = self.stride[0]
        whole = self.kernel_size == (2 * block, 2 * block) and not any(
            size % block for size in obs.shape[2:]
        )
        if obs.is_cuda and whole and not self.shift:  # few channels do not fill a GPU
            pixels, weight = (in_blocks(x, block) for x in (laid_out(obs, weight.dtype), weight))
            return nn.functional.conv2d(pixels, weight, self.bias)
        pixels = laid_out(obs, self.weight.dtype)
        if self.shift:
            pixels = pixels - self.shift
        return self._conv_forward(pixels, weight, self.bias)


def in_blocks(images: Tensor, block: int) -> Tensor:
    """Makes each block×block pixels one, of block² times the channels: [B,C,H,W] ->
    [B,C·block²,H/block,W/block], channels last. A convolution with a stride of `block` becomes one
    with a stride of 1, if its weights are rearranged alike."""
    rows, (height, width) = len(images), images.shape[2:]
    grid = images.permute(0, 2, 3, 1).unflatten(2, (width // block, block))
    grid = grid.unflatten(1, (height // block, block)).transpose(2, 3)
    return grid.reshape(rows, height // block, width // block, -1).permute(0, 3, 1, 2)


class Pixels(nn.Module):
    """uint8 [B,C,H,W] as pixels in [0,1], less `shift` / 255, for more than one convolution."""

    shift = 0

    def forward(self, obs: Tensor) -> Tensor:
        return (laid_out(obs, torch.float32) - self.shift) / 255.0
