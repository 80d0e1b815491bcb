"""What an error says of a name that nothing goes by."""

from simcore.document.problem import suggest_nearest

MANY = [f"device-{index}" for index in range(13)]


def test_the_nearest_name_is_suggested() -> None:
    assert suggest_nearest("knee", ["knees", "robust"], "picks") == "did you mean 'knees'?"


def test_where_nothing_is_near_all_names_of_a_kind_are_listed_in_their_order() -> None:
    assert suggest_nearest("zzz", ["libra", "abc"], "prices") == "known: libra, abc"


def test_of_more_names_than_fit_a_message_the_command_is_named_that_lists_them() -> None:
    assert suggest_nearest("zzz", MANY, "npus") == "all are listed by: dse catalogue npus"
    assert suggest_nearest("zzz", MANY[:12], "npus").startswith("known: device-0, ")


def test_of_names_that_no_catalogue_has_nothing_is_said() -> None:
    assert suggest_nearest("zzz", MANY) == ""


def test_names_that_begin_with_the_word_come_before_one_that_looks_like_it() -> None:
    names = ["h800", "h100-80gb", "h100-pcie", "h1000"]
    assert suggest_nearest("h100", names) == "did you mean 'h100-80gb' or 'h100-pcie'?"


def test_a_name_in_capitals_is_the_name() -> None:
    assert suggest_nearest("H100", ["h100-80gb", "h200"]) == "did you mean 'h100-80gb'?"
    assert suggest_nearest("time", ["iteration_time", "time_to_train"]) == "did you mean 'iteration_time'?"
    assert suggest_nearest("BF16", ["fp16", "bf16"]) == "did you mean 'bf16'?"
    assert suggest_nearest("Megatron-Core", ["megatron-core", "deepspeed"]) == "did you mean 'megatron-core'?"


def test_a_name_that_the_word_begins_with_is_meant() -> None:
    assert suggest_nearest("h800-80gb", ["h100-80gb", "h800", "h20"], "npus") == "did you mean 'h800'?"
