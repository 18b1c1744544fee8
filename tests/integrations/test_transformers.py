"""transformers' Trainer with RAAN's loss: a real BERT, small and random, and tokens that are made here."""

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification, TrainingArguments

from raan.integrations.transformers import INDEX, RAANTrainer, averages_file

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*pin_memory"),
]
ROWS, LENGTH = 96, 8


def comments(seed=0):
    """Rows as a tokenizer gives them, with the attribute; token 7 goes with the class, token 9 with the group."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, ROWS)
    label = (rng.random(ROWS) < np.where(group == 1, 0.7, 0.3)).astype(int)
    tokens = rng.integers(10, 30, (ROWS, LENGTH))
    tokens[label == 1, 1], tokens[group == 1, 2] = 7, 9
    mask = np.arange(LENGTH) < rng.integers(5, LENGTH + 1, ROWS)[:, None]
    return [
        {
            "input_ids": torch.tensor(np.where(m, t, 0)),
            "attention_mask": torch.tensor(m.astype(int)),
            "labels": int(y),
            "religion": "muslim" if a else "other",
        }
        for t, m, y, a in zip(tokens, mask, label, group, strict=True)
    ]


def bert():
    torch.manual_seed(0)
    sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    return BertForSequenceClassification(BertConfig(vocab_size=30, max_position_embeddings=LENGTH, **sizes))


def trainer(folder, epochs=2, rows=None, **options):
    rows = comments() if rows is None else rows
    settings = dict(per_device_train_batch_size=16, learning_rate=5e-3, use_cpu=True, report_to=[], seed=0)
    settings |= dict(save_strategy="epoch", disable_tqdm=True, logging_strategy="no", dataloader_pin_memory=False)
    arguments = TrainingArguments(folder, num_train_epochs=epochs, **(settings | options.pop("settings", {})))
    options = {"sensitive_features": "religion", **options}
    return RAANTrainer(bert(), arguments, train_dataset=rows, eval_dataset=rows, **options)


def test_a_model_is_trained_by_the_loss_and_every_row_is_visited(tmp_path):
    own = trainer(tmp_path, epochs=8, settings={"learning_rate": 0.02, "save_strategy": "no"})
    before = own.evaluate()["eval_loss"]
    own.train()
    assert own.evaluate()["eval_loss"] < 0.7 * before
    assert own.criterion.groups == ("muslim", "other")
    assert (own.criterion.visits >= 6).float().mean() > 0.9
    assert own.criterion.visits.max() == 8  # evaluation is no visit


def test_a_batch_is_the_model_s_inputs_and_the_rows_places_without_the_attribute(tmp_path):
    batch = next(iter(trainer(tmp_path).get_train_dataloader()))
    assert set(batch) == {"input_ids", "attention_mask", "labels", INDEX}
    rows = comments()
    for place, tokens, label in zip(batch[INDEX], batch["input_ids"], batch["labels"], strict=True):
        assert torch.equal(rows[place]["input_ids"], tokens)
        assert rows[place]["labels"] == label


def test_the_loss_is_that_of_the_loss_by_hand(tmp_path):
    own = trainer(tmp_path, scope="head", strength=1.0)
    batch = next(iter(own.get_train_dataloader()))
    loss = own.compute_loss(own.model.eval(), dict(batch))
    outputs = own.model(batch["input_ids"], batch["attention_mask"], output_hidden_states=True)
    mask = batch["attention_mask"]
    hidden = torch.stack([h[m == 1].mean(0) for h, m in zip(outputs.hidden_states[-1], mask, strict=True)])
    again = trainer(tmp_path, scope="head", strength=1.0).criterion
    attribute = [comments()[place]["religion"] for place in batch[INDEX]]
    torch.testing.assert_close(loss, again(outputs.logits, hidden, batch["labels"], attribute, batch[INDEX]))


def test_training_that_is_resumed_is_training_that_went_through(tmp_path):
    straight = trainer(tmp_path / "straight", epochs=3)
    straight.train()
    # The learning rate falls to 0 at the last epoch, so that the first run is told of all three as well.
    first = trainer(tmp_path / "first", epochs=3, settings={"max_steps": 18})
    first.add_callback(stop_after(2))
    first.train()
    resumed = trainer(tmp_path / "first", epochs=3, settings={"max_steps": 18})
    resumed.train(resume_from_checkpoint=str(tmp_path / "first" / "checkpoint-12"))
    assert not torch.equal(first.criterion.visits, straight.criterion.visits)
    for name, value in straight.criterion.state_dict().items():
        assert torch.equal(resumed.criterion.state_dict()[name], value), name
    for name, value in straight.model.state_dict().items():
        assert torch.equal(resumed.model.state_dict()[name], value), name


def stop_after(epochs):
    from transformers import TrainerCallback

    class Stop(TrainerCallback):
        def on_epoch_end(self, args, state, control, **kwargs):
            control.should_training_stop = state.epoch >= epochs

    return Stop()


def test_a_checkpoint_of_another_trainer_begins_the_averages_anew_and_says_so(tmp_path):
    first = trainer(tmp_path, epochs=1)
    first.train()
    averages_file(tmp_path / "checkpoint-6", 0).unlink()
    with pytest.warns(UserWarning, match="the running averages of the loss start afresh"):
        trainer(tmp_path, epochs=1).train(resume_from_checkpoint=str(tmp_path / "checkpoint-6"))


def test_accumulated_batches_are_averaged(tmp_path):
    steps = {}
    for accumulated in (1, 2):
        settings = {"gradient_accumulation_steps": accumulated, "max_grad_norm": 0.0, "max_steps": 1}
        settings |= {"optim": "sgd", "learning_rate": 0.1, "lr_scheduler_type": "constant"}
        own = trainer(tmp_path / str(accumulated), settings=settings)
        before = {name: value.clone() for name, value in own.model.state_dict().items()}
        own.model.config.hidden_dropout_prob = own.model.config.attention_probs_dropout_prob = 0.0
        own.train()
        steps[accumulated] = sum(float((own.model.state_dict()[n] - v).norm()) for n, v in before.items())
    assert steps[2] < 1.4 * steps[1]  # a sum would be about twice as far


def test_the_attribute_may_be_values_in_the_order_of_the_rows(tmp_path):
    rows = comments()
    values = [row.pop("religion") for row in rows]
    own = trainer(tmp_path, rows=rows, sensitive_features=values)
    assert own.criterion.groups == ("muslim", "other")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sensitive_features": "faith"}, "sensitive_features names the column 'faith', which train_dataset"),
        (
            {"sensitive_features": ["a", "b", "b", "a"] * 5, "label": [0, 0, 1, 1] * 5},
            "20 rows; expected one for each of the",
        ),
        ({"rows": iter([])}, "train_dataset is a list_iterator, whose rows have no number"),
    ],
)
def test_what_cannot_be_used_is_said_in_words(tmp_path, options, said):
    with pytest.raises(ValueError, match=said):
        trainer(tmp_path, **options)
