"""Logs of nccl-tests and rccl-tests: what each version prints is read, what is wrong is said with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from nccl_logs import log

from dse.measured.fabric import MeasuredCollective, read_logs
from simcore.document.problem import InputError

TIMES = [(1 << 20, 31.5), (1 << 24, 130.25)]
OLD = """\
# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#
# Using devices
#   Rank  0 Pid   1320 on     node7 device  0 [0x07] A100-SXM4-80GB
#   Rank  1 Pid   1320 on     node7 device  1 [0x0f] A100-SXM4-80GB
node7:1320:1320 [0] NCCL INFO Bootstrap : Using eno1:192.168.0.1<0>
#
#                                                       out-of-place                       in-place
#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           0             0     float              0.31    0.00    0.00  0e+00     0.30    0.00    0.00  0e+00
     1048576        131072     float             44.21   23.72   11.86  1e-07    45.10   23.25   11.62  1e-07
"""
ROCM = """\
# nThread 1 nGpus 4 minBytes 8388608 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#
rccl-tests: Version develop:83d38d9
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     8388608       2097152     float     sum      -1    91.10   92.08  161.14      0    94.94   88.36  154.63    N/A
"""


def written(folder: Path, text: str, name: str = "run.log") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refused(*paths: Path) -> str:
    with pytest.raises(InputError) as error:
        read_logs(paths)
    return str(error.value)


def test_a_log_says_what_was_measured_among_whom(tmp_path: Path) -> None:
    path = written(tmp_path, log("reduce_scatter", ["a"] * 8 + ["b"] * 8, TIMES))
    assert read_logs([path]) == [
        MeasuredCollective("reduce_scatter", 16, 2, size, pytest.approx(time / 1e6), "run.log") for size, time in TIMES
    ]
    assert {row.nodes for row in read_logs([path], npus_per_node=4)} == {4}


def test_lines_of_other_programs_and_of_mpirun_are_no_harm(tmp_path: Path) -> None:
    plain = log("alltoall", ["a"] * 4, TIMES)
    tagged = "+ mpirun -x PATH=/opt/all_reduce_perf ./alltoall_perf\n" + "".join(
        f"[1,0]<stdout>:{line}\n" for line in plain.splitlines()
    )
    one, other = written(tmp_path, plain, "x.log"), written(tmp_path, tagged, "y.log")
    first, second = read_logs([one]), read_logs([other])
    assert [row._replace(log="") for row in first] == [row._replace(log="") for row in second]
    assert {row.kind for row in first} == {"all_to_all"}


def test_older_versions_have_fewer_columns_and_do_not_say_their_name(tmp_path: Path) -> None:
    assert "the name of one program" in refused(written(tmp_path, OLD))
    (row,) = read_logs([written(tmp_path, OLD, "all_gather_perf.txt")])
    assert row == ("all_gather", 2, 1, 1 << 20, pytest.approx(44.21e-6), "all_gather_perf.txt")
    (row,) = read_logs([written(tmp_path, "$ ./build/all_gather_perf -b 8 -g 2\n" + OLD)])
    assert row.kind == "all_gather"


def test_rccl_tests_print_the_same(tmp_path: Path) -> None:
    (row,) = read_logs([written(tmp_path, ROCM, "all_reduce.out")])
    assert row == ("all_reduce", 4, 1, 8 << 20, pytest.approx(91.1e-6), "all_reduce.out")


def test_everything_wrong_is_said_with_file_and_line(tmp_path: Path) -> None:
    lines = log("all_reduce", ["a"] * 2, [*TIMES, (1 << 25, 250.0)]).splitlines()
    lines[-6] = lines[-6][:60]
    lines[-5] = lines[-5].replace("      0", "      3", 1)
    lines[-4] = lines[-4].replace("250.00", "25.00")
    text = refused(
        written(tmp_path, "\n".join(lines)), written(tmp_path, "nothing\n", "all_gather.log"), tmp_path / "no"
    )
    assert "line 11: run.log: expected the columns size count type redop root time" in text
    assert "line 12: run.log: expected no wrong results (#wrong), got '3'" in text
    assert "line 13: run.log: expected a time [us] above 0, and size / time as algbw" in text
    assert "all_gather.log: expected the lines '# nThread … nGpus …'" in text
    assert "expected a readable file" in text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (log("sendrecv", ["a", "a"], TIMES), "got sendrecv_perf"),
        (log("all_reduce", ["a"], TIMES), "expected two or more GPUs, the same number on every node, got 1 on 1"),
        (log("all_reduce", ["a", "b", "b"], TIMES), "got 3 on 2; say how many with --gpus-per-node"),
        (log("all_reduce", ["a", "b"], []), "expected lines with size, count"),
        (log("all_reduce", ["a"], TIMES) + log("all_gather", ["a"], TIMES), "got all_reduce_perf, all_gather_perf"),
    ],
)
def test_a_log_that_does_not_say_enough_is_refused(tmp_path: Path, text: str, found: str) -> None:
    assert found in refused(written(tmp_path, text))
