"""ResNet-18 (He et al. 2016), the paper's encoder for images.

Parameters and buffers are called as in the weights that torchvision publishes, so such a file loads as it is:
`resnet18().load_state_dict(torch.load("resnet18-f37072fd.pth", weights_only=True))`.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

WIDTHS = (64, 128, 256, 512)


class Block(nn.Module):
    """relu(shortcut(x) + conv(relu(conv(x)))): the shortcut is the identity, or 1 x 1 where the shape changes."""

    def __init__(self, width_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width_in, width, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample: nn.Module | None = None
        if stride > 1 or width_in != width:
            shortcut = nn.Conv2d(width_in, width, 1, stride, bias=False)
            self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(width))

    def forward(self, image: Float[Tensor, "image width_in height width"]) -> Tensor:
        """The images after two convolutions and the shortcut."""
        shortcut = image if self.downsample is None else self.downsample(image)
        inner: Tensor = self.bn1(self.conv1(image)).relu()
        out: Tensor = (self.bn2(self.conv2(inner)) + shortcut).relu()
        return out


class ResNet18(nn.Module):
    """From images to the logits of `classes`; with `classes` None, to the embedding of 512 that the head sees."""

    def __init__(self, classes: int | None = 1000) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        before = (64, *WIDTHS[:-1])
        for number, (width_in, width) in enumerate(zip(before, WIDTHS, strict=True), start=1):
            layer = nn.Sequential(Block(width_in, width, 1 if number == 1 else 2), Block(width, width, 1))
            self.add_module(f"layer{number}", layer)
        self.fc: nn.Module = nn.Identity() if classes is None else nn.Linear(WIDTHS[-1], classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, image: Float[Tensor, "image 3 height width"]) -> Float[Tensor, "image output"]:
        """Logits, or the embedding."""
        signal: Tensor = self.maxpool(self.bn1(self.conv1(image)).relu())
        for number in range(1, len(WIDTHS) + 1):
            signal = self.get_submodule(f"layer{number}")(signal)
        output: Tensor = self.fc(signal.mean((-2, -1)))
        return output


def resnet18(classes: int | None = 1000, seed: int | None = None) -> ResNet18:
    """A ResNet-18 at random starting values: of the seed, or of torch's global generator."""
    if seed is None:
        return ResNet18(classes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return ResNet18(classes)
