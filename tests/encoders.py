"""Encoders small enough to be made within a test: a real sentence-transformers model, and a network for images."""

from pathlib import Path

import torch

WORDS = ("awful", "lovely", "bus", "tree", "river", "house", "mosque", "church", "market", "garden")


def tiny_text_encoder(folder, seed=0):
    """A sentence-transformers model of 16 dimensions, with random weights and a few words, in a folder."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    inner = Path(folder).with_name(f"{Path(folder).name}-bert")
    inner.mkdir(parents=True)
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (inner / "vocab.txt").write_text("\n".join(tokens))
    BertTokenizerFast.from_pretrained(inner).save_pretrained(inner)
    torch.manual_seed(seed)
    sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    config = BertConfig(vocab_size=len(tokens), max_position_embeddings=32, initializer_range=0.5, **sizes)
    BertModel(config).save_pretrained(inner)
    transformer = Transformer(str(inner))
    SentenceTransformer(modules=[transformer, Pooling(16)], device="cpu").save(str(folder))
    return Path(folder)
