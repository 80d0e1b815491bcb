"""Models from Hugging Face configurations: what is counted is what is published, and what is wrong is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dse.space.space import load_space
from simcore.catalog.preset import preset
from simcore.check.load import design_from, load_design
from simcore.document.problem import InputError, InputWarning
from simcore.simulate import simulate
from simcore.workload.transformer.counts import active_parameters, further_parameters, model_parameters
from simcore.workload.transformer.ends import embedding_parameters, head_parameters
from simcore.workload.transformer.huggingface.families import FAMILIES, NOT_MODELLED
from simcore.workload.transformer.huggingface.read import parse_configuration, read_configuration
from simcore.workload.transformer.layer import LayerKind, layer_parameters
from simcore.workload.transformer.layers import Shapes
from simcore.workload.transformer.model import Transformer
from simcore.workload.transformer.program import shapes_of, transformer_program

CONFIGS = Path(__file__).parent / "data" / "configs"
DESIGN = """
workload: {{model: {model}, global_batch: 8, sequence_length: 512, precision: bf16}}
cluster: {{npu: h100-80gb, fabric: dgx-h100, npus: 8}}
"""


def published() -> dict[str, int]:
    lines = (CONFIGS / "SOURCES.md").read_text(encoding="utf-8").splitlines()
    rows = [line.split("|") for line in lines if line.startswith("|") and line.split("|")[3].strip()[0].isdigit()]
    return {row[1].strip(): int(row[3].replace(",", "")) for row in rows}


PUBLISHED = published()


def model(name: str, **changed: Any) -> Transformer:
    return Transformer.model_validate(parse_configuration(keys(name) | changed).shape)


def keys(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def refused(data: dict[str, Any]) -> str:
    with pytest.raises(InputError) as error:
        parse_configuration(data)
    return str(error.value)


def test_every_configuration_has_a_published_count() -> None:
    assert {file.stem for file in CONFIGS.glob("*.json")} == set(PUBLISHED)
    read = {keys(name).get("text_config", keys(name))["model_type"] for name in PUBLISHED}
    assert read == set(FAMILIES)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_configuration_has_the_published_parameters(name: str) -> None:
    assert model_parameters(model(name)) == pytest.approx(PUBLISHED[name], rel=1e-6)


@pytest.mark.parametrize(
    ("name", "active"),
    [
        ("mixtral-8x7b", 12.88e9),  # arXiv 2401.04088: 13B
        ("qwen3-30b-a3b", 3.353e9),  # model card: 3.3B
        ("deepseek-v3", 37.55e9),  # arXiv 2412.19437: 37B
        ("llama-4-scout", 17.17e9),  # model card: 17B
    ],
)
def test_a_token_passes_the_published_part(name: str, active: float) -> None:
    assert active_parameters(model(name)) == pytest.approx(active, rel=1e-3)


def test_layers_that_predict_further_tokens_are_counted_apart() -> None:
    v3 = model("deepseek-v3")
    assert v3.multi_token_prediction == 1
    # README_WEIGHTS.md: 11.5B of its own
    assert further_parameters(v3) == pytest.approx(11.5e9, rel=0.01)


@pytest.mark.parametrize("name", ["qwen2-7b", "gpt-oss-20b", "gemma-2-9b", "phi-2", "gpt2", "deepseek-v2-lite"])
def test_the_parts_of_a_design_hold_all_parameters(name: str) -> None:
    spelled = parse_configuration(keys(name)).shape | {"multi_token_prediction": 0}
    document = {
        "workload": {"model": spelled, "global_batch": 1, "sequence_length": 512},
        "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 1},
    }
    (part,) = transformer_program(design_from(document)).parts
    assert part.parameters == pytest.approx(model_parameters(Transformer.model_validate(spelled)), rel=1e-12)


def test_a_stage_of_its_own_has_a_tied_output_matrix_once_more() -> None:
    document = {
        "workload": {"model": parse_configuration(keys("gemma-2b")).shape, "global_batch": 2, "sequence_length": 512},
        "parallelism": {"pipeline": 2},
        "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 2},
    }
    design = design_from(document)
    first, last = transformer_program(design).parts
    shapes: Shapes = shapes_of(design)
    own = sum(layer_parameters(shapes, LayerKind()))
    table = shapes.model.vocabulary * shapes.model.hidden
    assert first.parameters == pytest.approx(9 * own + embedding_parameters(shapes))
    assert last.parameters == pytest.approx(9 * own + head_parameters(shapes, shares_embedding=False))
    assert head_parameters(shapes, shares_embedding=True) == head_parameters(shapes, shares_embedding=False) - table


def test_what_a_document_names_stands_in_its_design(tmp_path: Path) -> None:
    folder = tmp_path / "llama"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(keys("llama-3-8b")))
    path = tmp_path / "design.yaml"
    path.write_text(DESIGN.format(model="{config: llama/config.json, layers: 4}"))
    design = load_design(path)
    (folder / "config.json").unlink()
    written = design.document()
    assert written["workload"]["model"]["layers"] == 4
    assert "config.json" not in str(written)
    assert design_from(written).key == design.key
    path.write_text(DESIGN.format(model="{base: llama3-8b, layers: 4}"))
    assert simulate(load_design(path)).iteration_time_s == simulate(design).iteration_time_s


def test_a_hole_chooses_among_configurations(tmp_path: Path) -> None:
    for name in ("llama-3-8b", "qwen3-8b"):
        (tmp_path / f"{name}.json").write_text(json.dumps(keys(name)))
    choice = "{choice: [{config: llama-3-8b.json}, {config: qwen3-8b.json}, llama3-70b]}"
    (tmp_path / "space.yaml").write_text(DESIGN.format(model=choice))
    space = load_space(tmp_path / "space.yaml")
    models = [filled.document["workload"]["model"] for filled in space.enumerate()]
    assert [model if isinstance(model, str) else model["name"] for model in models] == [
        "llama-3-8b",
        "qwen3-8b",
        "llama3-70b",
    ]
    assert "config" not in str(space.source).replace("configuration", "")


def test_what_is_not_modelled_is_said_when_a_document_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(keys("phi-2") | {"mixer_ranks": 4}))
    (tmp_path / "design.yaml").write_text(DESIGN.format(model="{config: x.json}"))
    with pytest.warns(InputWarning, match=r"workload\.model: 'x\.json': not modelled: .*key 'mixer_ranks'"):
        design = load_design(tmp_path / "design.yaml")
    assert "mixer_ranks" in design.document()["workload"]["model"]["source"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("../x.json", "outside its folder"),
        ("/etc/hostname", "outside its folder"),
        ("absent.json", "which is not there"),
        ("design.yaml", "which is no .json file of at most 1 MiB"),
    ],
)
def test_a_configuration_outside_the_folder_is_not_read(tmp_path: Path, name: str, found: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "x.json").write_text(json.dumps(keys("gpt2")))
    path = inside / "design.yaml"
    path.write_text(DESIGN.format(model=f"{{config: {name}}}"))
    with pytest.raises(InputError) as error:
        load_design(path)
    assert found in str(error.value)
    assert str(error.value).startswith(f"{path}: 1 problem")


def test_a_hole_inside_a_name_says_how_to_choose(tmp_path: Path) -> None:
    (tmp_path / "space.yaml").write_text(DESIGN.format(model="{config: {choice: [x.json]}}"))
    with pytest.raises(InputError, match="choose among mappings with a 'config' each") as error:
        load_space(tmp_path / "space.yaml")
    assert len(error.value.problems) == 1


def test_a_document_that_is_no_file_reads_no_configuration() -> None:
    document = {
        "workload": {"model": {"config": str(CONFIGS / "gpt2.json")}, "global_batch": 1},
        "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 1},
    }
    with pytest.raises(InputError, match="in a document that is no file"):
        design_from(document)


def test_every_size_that_is_missing_or_no_size_is_named_at_once() -> None:
    data = keys("llama-3-8b") | {"num_hidden_layers": 0, "vocab_size": "many", "intermediate_size": 1.5}
    del data["hidden_size"]
    text = refused(data)
    assert "hidden_size: expected a whole number as 'hidden_size', got nothing" in text
    assert "num_hidden_layers: expected a whole number of at least 1, got 0" in text
    assert "vocab_size: expected a whole number of at least 1, got 'many'" in text
    assert "intermediate_size: expected a whole number of at least 1, got 1.5" in text


@pytest.mark.parametrize(
    ("name", "changed", "found"),
    [
        ("llama-3-8b", {"num_attention_heads": 33}, "heads that divide the hidden size (4096), got 33"),
        ("llama-3-8b", {"num_key_value_heads": 5}, "a number that divides the heads (32), got 5"),
        ("mixtral-8x7b", {"num_experts_per_tok": 9}, "at most the 8 experts, got 9"),
        ("deepseek-v3", {"n_group": 7}, "a number that divides the experts (256), got 7"),
        ("llama-3-8b", {"num_hidden_layers": 10**6}, "at most 100,000"),
        ("llama-3-8b", {"tie_word_embeddings": "yes"}, "true or false, got 'yes'"),
        ("llama-3-8b", {"torch_dtype": "int3"}, "torch_dtype: expected one of float32"),
        ("qwen3-30b-a3b", {"mlp_only_layers": [7]}, "layers of experts that repeat"),
        ("gpt-oss-20b", {"layer_types": ["linear_attention"] * 24}, "not modelled: others), got linear_attention"),
        ("gpt2", {"add_cross_attention": True}, "false: a decoder alone"),
    ],
)
def test_sizes_that_no_model_has_together_are_refused(name: str, changed: dict[str, Any], found: str) -> None:
    assert found in refused(keys(name) | changed)


def test_an_unknown_family_is_one_message_with_those_that_are_known() -> None:
    text = refused({"model_type": "qwen9", "hidden_size": 1})
    assert text.startswith("1 problem")
    assert "model_type: expected a family that is read, got 'qwen9'; did you mean 'qwen" in text
    assert all(name in text for name in FAMILIES)
    assert "a family that is read (not modelled: state-space (Mamba) layers), got 'nemotron_h'" in refused(
        {"model_type": "nemotron_h"}
    )
    assert "got nothing" in refused({})
    assert not set(FAMILIES) & set(NOT_MODELLED)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"model_type": "llama", "hidden', "expected JSON, got text that is none"),
        ("[1]", "expected a JSON object of keys, got a list"),
        ('{"model_type": "llama", "model_type": "gpt2"}', "the key 'model_type' twice"),
        ("[" * 100_000, "expected a plain JSON object"),
        ('{"a": "' + "x" * (1 << 20) + '"}', "a configuration of at most 1 MiB"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, text: str, found: str) -> None:
    file = tmp_path / "config.json"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        read_configuration(file)
    assert found in str(error.value)
    assert str(error.value).startswith(f"{file}: 1 problem")
    file.write_bytes(b"\xff\xfe{}")
    with pytest.raises(InputError, match="JSON, which is UTF-8 text"):
        read_configuration(file)


def test_code_of_the_models_own_is_said_and_not_run() -> None:
    read = parse_configuration(
        keys("llama-3-8b") | {"auto_map": {"AutoModel": "evil.Model"}, "trust_remote_code": True}
    )
    assert read.not_modelled == ("auto_map: code of the model's own is never run; sizes are those of its model_type",)


def test_windows_are_those_of_the_files() -> None:
    def spelled(name: str, **changed: Any) -> dict[str, Any] | None:
        window = model(name, **changed).window
        return window and window.model_dump(exclude_defaults=True)

    assert spelled("mistral-7b-v0.1") == {"tokens": 4096}
    assert spelled("mistral-7b-v0.3") is None
    assert spelled("gemma-2-9b") == {"tokens": 4096, "full_every": 2}
    assert spelled("gemma-3-1b") == {"tokens": 512, "full_every": 6}
    assert spelled("gpt-oss-20b") == {"tokens": 128, "full_every": 2}
    assert spelled("gpt-oss-20b", layer_types=None) == {"tokens": 128, "full_every": 2}
    assert spelled("llama-4-scout") == {"tokens": 8192, "full_every": 4, "chunked": True}
    assert spelled("qwen2-7b") is None
    last = {"use_sliding_window": True, "sliding_window": 4096, "max_window_layers": 20}
    assert spelled("qwen2-7b", **last) == {"tokens": 4096, "full_first": 20}
    assert spelled("phi-4-mini") is None  # longer than any sequence


@pytest.mark.parametrize("name", ["gpt-oss-20b"])
def test_an_entry_of_the_catalogue_has_what_the_file_says_beside_the_sizes(name: str) -> None:
    entry, file = preset(Transformer, "models", name), model(name)
    assert set(entry.biases) == set(file.biases)
    assert (entry.window, entry.attention_sinks) == (file.window, file.attention_sinks)
    assert model_parameters(entry) == model_parameters(file)


def test_an_order_of_windows_that_cannot_be_said_is_reported_and_counts_none_of_them() -> None:
    types = ["full_attention", "sliding_attention", "sliding_attention", "full_attention"] * 6
    read = parse_configuration(keys("gpt-oss-20b") | {"layer_types": types})
    assert "window" not in read.shape
    assert any(text.startswith("layer_types: this order") for text in read.not_modelled)
    without = {key: value for key, value in keys("mistral-7b-v0.1").items() if key != "sliding_window"}
    assert parse_configuration(without).not_modelled == (
        "sliding_window is not said: every layer attends to the whole sequence here",
    )


@pytest.mark.parametrize(
    ("name", "without", "key", "found"),
    [
        ("mixtral-8x7b", "num_key_value_heads", "kv_heads", 8),
        ("llama-4-scout", "head_dim", "head_dim", 128),
        ("gemma-2-9b", "num_key_value_heads", "kv_heads", 4),
        ("qwen3-30b-a3b", "num_key_value_heads", "kv_heads", 4),
        ("qwen2.5-72b", "num_key_value_heads", "kv_heads", 32),
    ],
)
def test_a_key_that_the_file_leaves_out_has_the_default_of_its_family(
    name: str, without: str, key: str, found: int
) -> None:
    data = keys(name)
    (data.get("text_config") or data).pop(without, None)
    assert parse_configuration(data).shape[key] == found


def test_windows_of_no_tokens_that_are_switched_off_are_none() -> None:
    data = keys("qwen1.5-moe-a2.7b") | {"sliding_window": 0, "use_sliding_window": False}
    assert "window" not in parse_configuration(data).shape
    assert "sliding_window: expected a whole number of at least 1, got 0" in refused(
        data | {"use_sliding_window": True}
    )
