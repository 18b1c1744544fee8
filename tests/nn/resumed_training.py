"""Train from one epoch to another, from a file or from the start, and save: a program, run by a test.

python resumed_training.py FIRST LAST FROM TO
"""

import sys

import torch
from torch.utils.data import DataLoader

from nn.people import Model, dataset, people
from raan.nn import GroupBatchSampler, IndexedDataset, RAANLoss
from raan.optim import SCRAAN


def train(first, last, start, end):
    _, label, attribute = people()
    sampler = GroupBatchSampler(label, attribute, 32, seed=1)
    loader = DataLoader(IndexedDataset(dataset()), batch_sampler=sampler)
    model, criterion = Model(), RAANLoss(label, attribute, scope="model", averaging_rate=0.3, sampler=sampler)
    optimiser = SCRAAN(model.parameters(), lr=0.01)
    parts = {"model": model, "criterion": criterion, "optimiser": optimiser}
    if start is not None:
        for name, state in torch.load(start, weights_only=True).items():
            parts[name].load_state_dict(state)
    for epoch in range(first, last):
        sampler.set_epoch(epoch)
        for x, y, a, index in loader:
            logit, embedding = model(x)
            loss = criterion(logit, embedding, y, a, index)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    torch.save({name: part.state_dict() for name, part in parts.items()}, end)


if __name__ == "__main__":
    train(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])
