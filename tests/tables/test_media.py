"""Columns of texts and images: embedded once, remembered in the preprocessing, embedded alike for new rows."""

import json
import re
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from encoders import WORDS, tiny_text_encoder
from raan.data import Media, Preprocessing, encoders, from_frame
from raan.data.encoders import load_encoder
from raan.errors import InputError, MissingExtra, in_shell, spell
from raan.tables import media as door

pytestmark = pytest.mark.filterwarnings("ignore::raan.data.DataWarning")

ROWS = 120


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    """The folder of a small text encoder."""
    return tiny_text_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.fixture
def comments(cache) -> pd.DataFrame:
    """Comments of which some are missing or said twice, an age, a label and an attribute."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 4)) for _ in range(ROWS)]
    texts[3], texts[7] = texts[4], None
    sex, toxic = rng.choice(["f", "m"], ROWS), rng.choice(["no", "yes"], ROWS)
    return pd.DataFrame({"comment": texts, "age": rng.integers(18, 80, ROWS), "sex": sex, "toxic": toxic})


@pytest.fixture
def faces(cache, tmp_path) -> Path:
    """A CSV of images of one colour each, in a folder beside it."""
    (tmp_path / "faces" / "a").mkdir(parents=True)
    rng = np.random.default_rng(0)
    colours = rng.integers(0, 256, (40, 3))
    names = [f"a/{number}.png" if number % 2 else f"{number}.png" for number in range(40)]
    for name, colour in zip(names, colours, strict=True):
        Image.new("RGB", (9, 7), tuple(map(int, colour))).save(tmp_path / "faces" / name)
    frame = pd.DataFrame({"path": names, "sex": ["f", "m"] * 20, "hair": ["wavy", "wavy", "not", "not"] * 10})
    frame.to_csv(tmp_path / "faces.csv", index=False)
    return tmp_path / "faces.csv"


@pytest.fixture
def timm(monkeypatch) -> types.ModuleType:
    """A module that passes for timm: its one network has the mean colour, and two numbers of it."""

    class Colours(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mix = torch.nn.Linear(3, 5)
            with torch.no_grad():
                self.mix.weight.copy_(torch.arange(15.0).reshape(5, 3) / 15)

        def forward(self, shown):
            return self.mix(shown.mean((2, 3)))

    def create_model(name, pretrained, num_classes):
        assert (pretrained, num_classes) == (True, 0)
        if name != "colours":
            raise RuntimeError(f"Unknown model ({name})")
        return Colours()

    module = types.ModuleType("timm")
    module.create_model = create_model
    module.data = types.SimpleNamespace(
        resolve_model_data_config=lambda model: {"input_size": (3, 4, 6), "mean": (0.5,) * 3, "std": (0.25,) * 3}
    )
    monkeypatch.setitem(sys.modules, "timm", module)
    encoders.find_timm.cache_clear()
    yield module
    encoders.find_timm.cache_clear()


def load(comments, tiny, **options):
    media = Media(text=("comment",), text_encoder=tiny, **options)
    return from_frame(comments, "toxic", "sex", media=media)


def test_a_text_is_the_numbers_of_its_encoder_standardised_by_training_rows(comments, tiny):
    loaded = load(comments, tiny)
    assert loaded.feature_names[:2] == ("comment[0]", "comment[1]")
    assert loaded.feature_names[16:] == ("age",)
    vectors = load_encoder(str(tiny))(comments["comment"].fillna("").tolist())
    train = loaded.split.train
    expected = (vectors - vectors[train].mean(0)) / vectors[train].std(0)
    np.testing.assert_allclose(loaded.features[:, :16], expected, atol=2e-4)
    assert loaded.preprocessing.columns == ("comment", "age")
    assert "embedded by tiny as 16 numbers" in loaded.describe()


def test_new_rows_are_embedded_alike_after_json(comments, tiny):
    loaded = load(comments, tiny)
    again = Preprocessing.from_dict(json.loads(json.dumps(loaded.preprocessing.to_dict())))
    assert again == loaded.preprocessing
    features = again.transform(comments[::-1], media=Media(text_encoder=tiny))
    np.testing.assert_allclose(features[::-1], loaded.features, atol=1e-6)


def test_texts_are_embedded_once_and_progress_counts_them(comments, tiny, monkeypatch):
    told = []
    load(comments, tiny, progress=lambda *now: told.append(now))
    distinct = comments["comment"].nunique() + 1  # and the empty text
    assert told[-1] == ("comment", distinct, distinct)
    monkeypatch.setattr(encoders, "load_encoder", lambda *model: pytest.fail("loaded"))
    load(comments, tiny)


def test_several_columns_of_texts_stand_beside_each_other(comments, tiny):
    comments["title"] = comments["comment"].shift(1)
    media = Media(text=("comment", "title"), text_encoder=tiny)
    loaded = from_frame(comments, "toxic", "sex", media=media)
    assert len(loaded.feature_names) == 33
    assert loaded.preprocessing.columns == ("comment", "age", "title")


def test_a_folder_is_named_again_for_new_rows_and_must_be_the_same(comments, tiny, tmp_path):
    fitted = load(comments, tiny).preprocessing
    with pytest.raises(InputError, match="fitted with 'tiny', a folder of one's own; expected that folder"):
        fitted.transform(comments)
    other = tiny_text_encoder(tmp_path / "tiny", seed=1)
    with pytest.raises(InputError, match="expected the encoder that the model was fitted with, tiny, of fingerp"):
        fitted.transform(comments, media=Media(text_encoder=other))


def test_a_name_in_a_file_is_not_taken_for_a_folder(comments, tiny, tmp_path, monkeypatch):
    stored = load(comments, tiny).preprocessing.to_dict()
    stored["columns"][0]["encoder"] |= {"name": "tiny", "source": "hub"}
    monkeypatch.chdir(tiny.parent)
    with pytest.raises(InputError, match=r"text_encoder is 'tiny'; expected the name of"):
        Preprocessing.from_dict(stored).transform(comments)


def test_a_model_of_the_hub_is_remembered_with_its_revision(comments, tiny, tmp_path, monkeypatch):
    """The hub's cache on this machine, as a download leaves it."""
    import huggingface_hub.constants as hub

    commit = "0123456789abcdef0123456789abcdef01234567"
    home = tmp_path / "hub" / "models--somebody--tiny"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text(commit)
    (home / "snapshots").mkdir()
    (home / "snapshots" / commit).symlink_to(tiny)
    monkeypatch.setattr(hub, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(hub, "HF_HUB_OFFLINE", True)
    seen = []

    def loaded(name, revision):
        seen.append((name, revision))
        return load_encoder(str(tiny))

    monkeypatch.setattr(encoders, "load_encoder", loaded)
    media = Media(text=("comment",), text_encoder="somebody/tiny")
    fitted = from_frame(comments, "toxic", "sex", media=media).preprocessing
    assert fitted.encoders["comment"].revision == commit
    (home / "refs" / "main").write_text("f" * 40)  # the hub goes on; the model does not
    assert fitted.transform(comments.assign(comment="bus")).shape == (ROWS, 17)
    assert seen == [("somebody/tiny", commit)] * 2


def test_an_encoder_that_cannot_be_loaded_is_said_in_words(comments, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"text_encoder is '.*empty', which cannot be loaded"):
        load(comments, tmp_path / "empty")


@pytest.mark.parametrize(("kind", "extra"), [("text", "text"), ("image", "image")])
def test_without_torch_the_extra_is_named(kind, extra, comments, monkeypatch):
    monkeypatch.setattr(door, "is_installed", lambda package: False)
    media = Media(**{kind: ("comment",)})
    with pytest.raises(MissingExtra, match=rf"embedding the column 'comment' needs .*raan\[{extra}\]"):
        from_frame(comments, "toxic", "sex", media=media)


@pytest.mark.parametrize(
    ("media", "said"),
    [
        (Media(text=("coment",)), r"--text names the column 'coment'.* is it 'comment'\?"),
        (Media(text=("sex",)), "'sex' is named as --text or --image and otherwise; expected one role"),
        (Media(text=("comment",), image=("comment",)), "'comment' is named as --text or --image and otherwise"),
        (Media(text_encoder="x/y"), "--text-encoder is given; expected a column to use it for, by --text"),
        (Media(text=("comment",), image_folder="."), "--image-folder is given; expected a column .* by --image"),
    ],
)
def test_what_makes_no_sense_is_refused_in_the_words_of_the_command(comments, media, said):
    with pytest.raises(InputError) as caught:
        from_frame(comments, "toxic", "sex", media=media)
    assert re.search(said, spell(caught.value, in_shell()))


def test_free_text_and_image_files_that_are_left_out_say_how_to_learn_from_them(comments):
    texts = [f"{text} {number} {number + 1} {number + 2}" for number, text in enumerate(comments["comment"])]
    table = comments.assign(comment=texts, photo=[f"{number}.jpg" for number in range(ROWS)])
    loaded = from_frame(table, "toxic", "sex")
    (note,) = [text for text in loaded.warnings if "left out" in text]
    assert "free text: comment; image files: photo" in note
    assert "to learn from texts, pass --text comment; to learn from images, pass --image photo" in spell(
        note, in_shell()
    )


# Images.


def of_faces(faces, **options):
    media = Media(image=("path",), image_folder=faces.parent / "faces", **options)
    return from_frame(faces, "hair", "sex", media=media)


def test_any_network_of_timm_embeds_images_with_its_own_size_and_colours(faces, timm):
    loaded = of_faces(faces, image_encoder="colours")
    assert loaded.preprocessing.encoders["path"].source == "timm"
    frame = pd.read_csv(faces)
    pixel = np.stack([np.asarray(Image.open(faces.parent / "faces" / path))[0, 0] for path in frame["path"]])
    network = timm.create_model("colours", pretrained=True, num_classes=0)
    with torch.no_grad():
        vectors = network.mix((torch.tensor(pixel) / 255 - 0.5).float() / 0.25).numpy()
    train = loaded.split.train
    expected = (vectors - vectors[train].mean(0)) / vectors[train].std(0)
    np.testing.assert_allclose(loaded.features, expected, atol=1e-3)


def test_new_images_are_embedded_by_the_same_network_wherever_they_lie(faces, timm, tmp_path):
    loaded = of_faces(faces, image_encoder="colours")
    fitted = Preprocessing.from_dict(json.loads(json.dumps(loaded.preprocessing.to_dict())))
    moved = (faces.parent / "faces").rename(tmp_path / "elsewhere")
    features = fitted.transform(faces, media=Media(image_folder=moved))
    np.testing.assert_allclose(features, loaded.features, atol=1e-6)


def test_without_a_folder_images_are_looked_for_beside_the_file(faces, timm):
    frame = pd.read_csv(faces).assign(path=lambda table: "faces/" + table["path"])
    frame.to_csv(faces.parent / "beside.csv", index=False)
    media = Media(image=("path",), image_encoder="colours")
    loaded = from_frame(faces.parent / "beside.csv", "hair", "sex", media=media)
    np.testing.assert_allclose(loaded.features, of_faces(faces, image_encoder="colours").features)


def test_a_network_that_has_changed_is_refused(faces, timm, monkeypatch):
    fitted = of_faces(faces, image_encoder="colours").preprocessing
    inner = timm.create_model

    def changed(*names, **options):
        network = inner(*names, **options)
        with torch.no_grad():
            network.mix.bias.add_(1)
        return network

    monkeypatch.setattr(timm, "create_model", changed)
    encoders.find_timm.cache_clear()
    with pytest.raises(InputError, match=r"image_encoder is colours, of fingerprint .*; expected the encoder"):
        fitted.transform(faces, media=Media(image_folder=faces.parent / "faces"))


def test_missing_and_unreadable_images_are_named_by_row_all_in_one_error(faces, timm):
    frame = pd.read_csv(faces)
    frame.loc[2, "path"], frame.loc[5, "path"] = None, "no/such.png"
    frame.to_csv(faces, index=False)
    with pytest.raises(InputError) as caught:
        of_faces(faces, image_encoder="colours")
    said = spell(caught.value, in_shell())
    for words in ("in 2 of 40 rows", "line 4: it is missing", "line 7: 'no/such.png' is not in", "--image-folder"):
        assert words in said, said
    whole = frame.assign(path=[f"{n}.png" if n % 2 == 0 else f"a/{n}.png" for n in range(40)])
    whole.to_csv(faces, index=False)
    for name in ("4.png", "a/9.png"):
        (faces.parent / "faces" / name).write_bytes(b"no image " + name.encode())
    with pytest.raises(
        InputError, match=r"(?s)in 2 of 40 rows: .*line 6: '4.png' cannot.*line 11: 'a/9.png' canno"
    ):
        of_faces(faces, image_encoder="colours")


def test_timm_is_asked_for_in_words_where_it_is_not_installed(faces, monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    encoders.find_timm.cache_clear()
    with pytest.raises(InputError, match=r"is 'resnet50', which is looked for in timm, .*pip install timm"):
        of_faces(faces, image_encoder="resnet50")


def test_a_network_that_timm_does_not_know_is_said_in_words(faces, timm):
    with pytest.raises(InputError, match=r"is 'nothing', which timm cannot load \(Unknown model \(nothing\)\)"):
        of_faces(faces, image_encoder="nothing")


def test_the_packaged_network_embeds_images(faces):
    pytest.importorskip("efficientnet_lite_pytorch", reason="the extra `image` is not installed")
    loaded = of_faces(faces)
    assert loaded.preprocessing.encoders["path"].name == "efficientnet-lite0"
    assert loaded.features.shape == (40, 1280)
    assert np.isfinite(loaded.features).all()
    # Colours are told apart, and the same colour is the same wherever its file lies.
    assert len(np.unique(loaded.features.round(3), axis=0)) == 40
