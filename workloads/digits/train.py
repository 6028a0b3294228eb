#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the shipped digits classifier and writes digits.onnx, images.npy and labels.npy beside itself.

Needs Debian's python3-torch, python3-sklearn and python3-onnx; takes a few minutes on two cores.

The network (8x8 grey images, 10 classes): a convolution, a residual block of two convolutions, a strided
convolution to 4x4 positions of 128 channels, one pre-norm transformer block (4-head self-attention and
a feed-forward part, both with residual connections), mean over the positions, a linear classifier.

Sparsity: every weight with at least 32 inputs an output channel is trained to keep 2 in each block of 32
along (kernel row, kernel column, input channel), which is the 16x pattern of the tensor engine. The
mask follows the largest magnitudes while the ratio rises step by step, then stays.
"""

import pathlib

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional as F

BLOCK = 32
RATIOS = [1, 2, 4, 8, 16]  # weights kept: 1 in RATIO
EPOCHS_PER_RATIO = [20, 15, 15, 20, 120]
HERE = pathlib.Path(__file__).resolve().parent


class Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.project = nn.Linear(width, width)

    def forward(self, x):  # [1, positions, width]
        def split(y):
            return y.reshape(-1, 16, self.heads, 32).transpose(1, 2)

        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = query @ key.transpose(2, 3) * (32**-0.5)
        mixed = F.softmax(scores, dim=-1) @ value
        return self.project(mixed.transpose(1, 2).reshape(-1, 16, 128))


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 64, 3, padding=1)
        self.block1 = nn.Conv2d(64, 64, 3, padding=1)
        self.block2 = nn.Conv2d(64, 64, 3, padding=1)
        self.down = nn.Conv2d(64, 128, 3, stride=2, padding=1)
        self.norm1 = nn.LayerNorm(128)
        self.attention = Attention(128, 4)
        self.norm2 = nn.LayerNorm(128)
        self.up = nn.Linear(128, 256)
        self.contract = nn.Linear(256, 128)
        self.classify = nn.Linear(128, 10)

    def forward(self, image):  # [batch, 1, 8, 8]
        x = F.relu(self.stem(image))
        x = F.relu(x + self.block2(F.relu(self.block1(x))))
        x = F.relu(self.down(x))
        x = x.reshape(-1, 128, 16).transpose(1, 2)
        x = x + self.attention(self.norm1(x))
        x = x + self.contract(F.relu(self.up(self.norm2(x))))
        return self.classify(x.mean(dim=1))


def prunable(net):
    return [m.weight for m in net.modules()
            if isinstance(m, (nn.Conv2d, nn.Linear)) and m.weight[0].numel() >= BLOCK]


def balanced_mask(weight, ratio):
    """1 where a weight is among the BLOCK / ratio largest of its block, in the engine's order of K."""
    k_order = weight.permute(0, 2, 3, 1) if weight.dim() == 4 else weight
    blocks = k_order.reshape(-1, BLOCK).abs()
    keep = blocks.topk(BLOCK // ratio, dim=1).indices
    mask = torch.zeros_like(blocks).scatter_(1, keep, 1.0).reshape(k_order.shape)
    return mask.permute(0, 3, 1, 2) if weight.dim() == 4 else mask


def shifted(images):
    """Moves each image by up to one pixel, which the 1,437 training images alone do not teach."""
    padded = F.pad(images, (1, 1, 1, 1))
    rows, columns = torch.randint(0, 3, (2, len(images)))
    return torch.stack([padded[i, :, r:r + 8, c:c + 8]
                        for i, (r, c) in enumerate(zip(rows.tolist(), columns.tolist()))])


def train(net, images, labels):
    for ratio, epochs in zip(RATIOS, EPOCHS_PER_RATIO):
        masks = [balanced_mask(w.data, ratio) for w in prunable(net)]
        optimiser = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=0.02)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
        for _ in range(epochs):
            for batch in torch.randperm(len(images)).split(64):
                loss = F.cross_entropy(net(shifted(images[batch])), labels[batch],
                                       label_smoothing=0.05)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                with torch.no_grad():
                    for weight, mask in zip(prunable(net), masks):
                        weight.mul_(mask)
            schedule.step()
        print(f"ratio {ratio}: loss {loss.item():.3f}", flush=True)


def main():
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    data = load_digits()
    images = (data.images / 16.0).astype(np.float32)[:, None]
    kept, held_out, kept_labels, held_out_labels = train_test_split(
        images, data.target, test_size=0.2, random_state=1, stratify=data.target)

    net = Digits()
    train(net, torch.from_numpy(kept), torch.from_numpy(kept_labels))
    net.eval()
    with torch.no_grad():
        answers = net(torch.from_numpy(held_out)).argmax(dim=1).numpy()
    print(f"accuracy on {len(held_out)} held-out images: {(answers == held_out_labels).mean():.4f}")

    torch.onnx.export(net, torch.from_numpy(held_out[:1]), HERE / "digits.onnx", opset_version=13,
                      input_names=["image"], output_names=["logits"])
    np.save(HERE / "images.npy", held_out)
    np.save(HERE / "labels.npy", held_out_labels.astype(np.int64))
    np.save(HERE / "calibration.npy", kept[:128])


if __name__ == "__main__":
    main()
