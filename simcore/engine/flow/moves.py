"""What the program of a class does at one picosecond: it goes on until it has to wait (`reference.npu.NpuProcess`).

Segments that start and end on an idle network and whose collectives nothing can meet always take the same time: they
are played once (`fast.blocks`), and several in a row are one wait here.
"""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.fast.blocks import BLOCKING_CLASS, play_segment
from simcore.engine.fast.state import (
    FREE,
    ISSUED,
    ISSUES_AT,
    NOW,
    OUTSTANDING,
    PENDING,
    USED,
)
from simcore.engine.fast.tables import (
    ARGUMENT,
    BLOCKING,
    CODE,
    COMPUTE,
    CONSTANT,
    DURATION,
    END_OPERATOR,
    END_SEGMENT,
    FIRST_OPERATOR,
    FIRST_SEGMENT,
    KNOWN,
    OTHER,
    REPEATS,
    START,
    UNKNOWN,
    VARIES,
    WAIT,
    choose_block,
    locate_block,
    locate_operator,
    locate_segment,
)
from simcore.engine.fast.tables import SPENT as SPENT_IN
from simcore.engine.flow.computation import begin_computation, settle
from simcore.engine.flow.log import note_block, note_block_end, note_operator
from simcore.engine.flow.passages import begin_passage, end_passage, finish_recording, is_passage_over
from simcore.engine.flow.repeats import begin_repeats, end_repeats
from simcore.engine.flow.service import begin_collective
from simcore.engine.flow.tables import (
    ADDABLE_AT,
    ADDS,
    ALONG_AT,
    ASKED,
    AWAITED,
    BEGIN,
    BUBBLE,
    CATEGORY,
    CHUNKS,
    CLASS_SIZE,
    CLASSES,
    CLASSES_AT,
    COMPUTES,
    COMPUTES_BESIDE,
    FINISH,
    FINISHED,
    GATHERS,
    GOES_ON,
    HANDS_ON,
    INPUTS_AT,
    ITERATIONS,
    JOB,
    LENGTH,
    MACHINE_WIDTH,
    MICROBATCHES,
    MODE,
    OPERATOR,
    ORDER_AT,
    PATH_AT,
    PLAYED,
    POSITION,
    PROGRAM,
    RECEIVERS_AT,
    RECEIVES,
    RECORDED,
    RECORDS_AT,
    REPEAT,
    SEGMENT,
    SEGMENT_END,
    SKIPS,
    SPENT,
    STAGE,
    STAGES,
    STRETCH,
    TO_ADD,
    UNFINISHED,
    UNTIL,
    WAITS,
    WORK,
    Ints,
    World,
    let_move,
    locate_class,
    locate_machine,
    locate_notes,
)
from simcore.schedule.base import CHUNK_MASK, CHUNK_SHIFT, WEIGHTS


@inlined
def _locate_inputs(plan: Ints, its: int, direction: int, microbatch: int, chunk: int) -> int:
    """Offset of the number of inputs for a block that a class has got and not used."""
    row = direction * plan[its + MICROBATCHES] + microbatch
    return int(plan[its + INPUTS_AT] + row * plan[its + CHUNKS] + chunk)


@inlined
def _find_input(plan: Ints, its: int, code: int) -> int:
    """Where the inputs for a block lie; -1 where it needs none."""
    direction, microbatch, chunk = code & 1, code >> (CHUNK_SHIFT + 1), (code >> 1) & CHUNK_MASK
    if (code >> 1) & WEIGHTS > 0 or plan[its + STAGES] == 1:
        return -1
    stages = plan[its + STAGES]
    along = plan[plan[its + ALONG_AT] + chunk * stages + plan[its + STAGE]]
    if along == direction * (stages * plan[its + CHUNKS] - 1):
        return -1
    return _locate_inputs(plan, its, direction, microbatch, chunk)


@inlined
def _deliver(plan: Ints, play: Ints, its: int, code: int) -> None:
    """Give the next virtual stage its input."""
    stages = plan[its + STAGES]
    direction, chunk = code & 1, (code >> 1) & CHUNK_MASK
    if stages == 1 or (code >> 1) & WEIGHTS > 0:
        return
    after = plan[plan[its + ALONG_AT] + chunk * stages + plan[its + STAGE]] + 1 - 2 * direction
    if 0 <= after < stages * plan[its + CHUNKS]:
        place = plan[plan[its + PATH_AT] + after]
        receiver = plan[plan[its + RECEIVERS_AT] + place % stages]
        other = locate_class(plan, receiver)
        play[_locate_inputs(plan, other, direction, code >> (CHUNK_SHIFT + 1), place // stages)] += 1
        let_move(play, receiver)


@inlined
def _record(plan: Ints, play: Ints, its: int, m: int) -> None:
    """Keep what a class has done up to the end of an iteration."""
    played, width = play[m + PLAYED], play[MACHINE_WIDTH]
    if played < plan[ITERATIONS]:
        c = (its - plan[CLASSES_AT]) // CLASS_SIZE
        record = play[RECORDS_AT] + (c * plan[ITERATIONS] + played) * width
        for column in range(width):
            play[record + column] = play[m + column]
        if played + 1 == plan[its + ASKED]:
            play[UNFINISHED] -= 1


@inlined
def _begin_again(plan: Ints, play: Ints, its: int, m: int, now: int) -> bool:
    """Begin the next iteration of a class; False where all is played, or others of its job are still at this one."""
    if play[m + MODE] != GATHERS:
        play[m + FINISH] = now
        _record(plan, play, its, m)
        play[m + PLAYED] += 1
        if plan[ITERATIONS] == 1 or play[UNFINISHED] == 0:
            play[m + POSITION] = 0
            play[m + MODE] = FINISHED
            return False
        play[m + MODE] = GATHERS
    for c in range(plan[CLASSES]):
        other = locate_machine(play, c)
        if plan[locate_class(plan, c) + JOB] == plan[its + JOB] and play[other + PLAYED] < play[m + PLAYED]:
            return False
    for c in range(plan[CLASSES]):
        if plan[locate_class(plan, c) + JOB] == plan[its + JOB] and play[locate_machine(play, c) + MODE] == GATHERS:
            let_move(play, c)
    play[m + POSITION] = 0
    play[m + MODE] = GOES_ON
    return True


@inlined
def _next_block(plan: Ints, orders: Ints, program: Ints, play: Ints, its: int, m: int, now: int) -> bool:
    """Begin the next block of a class; False where it waits for its input, or all blocks are played."""
    if play[m + POSITION] == plan[its + LENGTH] and not _begin_again(plan, play, its, m, now):
        return False
    code = orders[plan[its + ORDER_AT] + play[m + POSITION]]
    needed = _find_input(plan, its, code)
    if needed >= 0:
        if play[needed] == 0:
            if play[m + MODE] != RECEIVES:
                play[m + MODE], play[m + BEGIN] = RECEIVES, now
            return False
        play[needed] -= 1
    if play[m + MODE] == RECEIVES:
        play[m + MODE] = GOES_ON
        play[m + BUBBLE] += now - play[m + BEGIN]
    play[m + POSITION] += 1
    last = play[m + POSITION] == plan[its + LENGTH]
    block = locate_block(program, choose_block(program, plan[its + STAGE], code, plan[its + MICROBATCHES], last))
    play[m + SEGMENT] = program[block + FIRST_SEGMENT]
    play[m + SEGMENT_END] = program[block + END_SEGMENT]
    _enter_segment(program, play, m)
    return True


@inlined
def _enter_segment(program: Ints, play: Ints, m: int) -> None:
    """Begin the segment that is due."""
    segment = locate_segment(program, play[m + SEGMENT])
    play[m + OPERATOR], play[m + REPEAT] = program[segment + FIRST_OPERATOR], program[segment + REPEATS]


@borrowing
def learn_segment(world: World, c: int, segment: int) -> None:
    """Play a segment on an idle network of its own, and note what it takes if that is idle again at its end."""
    nets, states, programs, _, plan, _, learnt, _, _ = world
    its = locate_class(plan, c)
    net, state, program = nets[plan[its + JOB]], states[plan[0]], programs[plan[its + PROGRAM]]
    known = learnt[plan[its + PROGRAM], segment]
    spent = known[SPENT_IN:]
    idle = states[c]
    for i in range(idle[ISSUES_AT]):  # the header says where the tables lie; an idle network has nothing in them
        state[i] = idle[i]
    state[NOW] = state[ISSUED] = state[USED] = 0
    state[FREE] = -1
    play_segment(net, state, program, segment, spent, learnt[0, :0])
    known[KNOWN] = CONSTANT if state[OUTSTANDING] == 0 else VARIES
    known[DURATION] = state[NOW]


@inlined
def _add_segment(world: World, c: int, m: int) -> int:
    """How long what is left of a segment takes that is only added [ps]; 0 where it has to be played."""
    _, states, programs, _, plan, play, learnt, _, _ = world
    its = locate_class(plan, c)
    program, segment = programs[plan[its + PROGRAM]], play[m + SEGMENT]
    if plan[plan[its + ADDABLE_AT] + segment] != TO_ADD or states[c, OUTSTANDING] > 0:
        return 0
    if play[m + OPERATOR] != program[locate_segment(program, segment) + FIRST_OPERATOR]:
        return 0
    known = learnt[plan[its + PROGRAM], segment]
    if known[KNOWN] == UNKNOWN:
        learn_segment(world, c, segment)
    if known[KNOWN] != CONSTANT:
        return 0
    for category in range(STRETCH - SPENT):
        play[m + SPENT + category] += play[m + REPEAT] * known[SPENT_IN + category]
    return int(play[m + REPEAT] * known[DURATION])


@inlined
def _wait(state: Ints, play: Ints, m: int, group: int, category: int) -> None:
    """Wait until no collective of class `group` is outstanding."""
    play[m + AWAITED], play[m + BEGIN], play[m + CATEGORY] = group, state[NOW], category
    if state[PENDING + group] > 0:
        play[m + MODE] = WAITS


@inlined
def _operate(world: World, c: int, m: int) -> None:
    """Begin the operator that is due."""
    nets, states, programs, orders, plan, play, _, _, _ = world
    its = locate_class(plan, c)
    net, state, program = nets[plan[its + JOB]], states[c], programs[plan[its + PROGRAM]]
    operator = locate_operator(play[m + OPERATOR])
    code, argument, other = program[operator + CODE], program[operator + ARGUMENT], program[operator + OTHER]
    play[m + OPERATOR] += 1
    if code == COMPUTE:
        play[m + BEGIN], play[m + CATEGORY] = state[NOW], other
        begin_computation(net, state, play, m, argument)
    elif code == BLOCKING:
        begin_collective(world, c, argument, BLOCKING_CLASS)
        _wait(state, play, m, BLOCKING_CLASS, other)
    elif code == START:
        begin_collective(world, c, argument, other)
    elif code == WAIT:
        _wait(state, play, m, argument, other)
    else:
        _deliver(plan, play, its, orders[plan[its + ORDER_AT] + play[m + POSITION] - 1])


@inlined
def _goes_on(net: Ints, state: Ints, play: Ints, c: int, m: int) -> bool:
    """Whether what a class has done until now is over; its time is counted then."""
    mode, now = play[m + MODE], state[NOW]
    if mode in (SKIPS, ADDS):
        return bool(play[m + UNTIL] <= now)
    if mode == COMPUTES:
        over = play[m + UNTIL] <= now
    elif mode == COMPUTES_BESIDE:
        settle(net, state, play, m, now)
        over = play[m + WORK] <= 0
    elif mode == WAITS:
        over = state[PENDING + play[m + AWAITED]] == 0
    else:
        return bool(mode != FINISHED)
    if over:
        play[m + MODE] = GOES_ON
        if play[m + CATEGORY] >= 0:
            play[m + SPENT + play[m + CATEGORY]] += now - play[m + BEGIN]
            note_operator(play, c, play[m + OPERATOR] - 1, play[m + BEGIN], now)
    return bool(over)


@inlined
def _finish_operators(program: Ints, play: Ints, m: int) -> bool:
    """Go on to the next repeat or segment where all operators of one are over; False where there are more of them."""
    segment = locate_segment(program, play[m + SEGMENT])
    if play[m + OPERATOR] < program[segment + END_OPERATOR]:
        return False
    play[m + REPEAT] -= 1
    if play[m + REPEAT] > 0:
        play[m + OPERATOR] = program[segment + FIRST_OPERATOR]
    else:
        play[m + SEGMENT] += 1
        if play[m + SEGMENT] < play[m + SEGMENT_END]:
            _enter_segment(program, play, m)
    return True


@inlined
def _is_due(plan: Ints, program: Ints, play: Ints, its: int, m: int) -> bool:
    """Whether a segment is about to begin that a passage may begin with."""
    segment = locate_segment(program, play[m + SEGMENT])
    need = plan[plan[its + ADDABLE_AT] + play[m + SEGMENT]]
    return bool(
        need != HANDS_ON
        and play[m + OPERATOR] == program[segment + FIRST_OPERATOR]
        and play[m + REPEAT] == program[segment + REPEATS]
    )


@borrowing
def move(world: World, c: int, time: int) -> None:
    """Let the program of a class go on as far as it can at `time`."""
    nets, states, programs, orders, plan, play, _, _, _ = world
    its, m = locate_class(plan, c), locate_machine(play, c)
    net, state, program = nets[plan[its + JOB]], states[c], programs[plan[its + PROGRAM]]
    state[NOW] = time
    added = 0
    while _goes_on(net, state, play, c, m):
        if play[m + MODE] == SKIPS or play[m + MODE] == ADDS:
            if play[m + MODE] == SKIPS:
                end_passage(world, c)
            else:
                end_repeats(world, c)
            play[m + MODE] = GOES_ON
            if play[m + SEGMENT] < play[m + SEGMENT_END]:
                _enter_segment(program, play, m)
            continue
        if play[m + SEGMENT] == play[m + SEGMENT_END]:
            if added > 0:
                break
            if play[locate_notes(play, c) + RECORDED] > 0:
                finish_recording(world, c)
            note_block_end(plan, play, c, time)
            if not _next_block(plan, orders, program, play, its, m, time):
                break
            note_block(plan, play, c, orders[plan[its + ORDER_AT] + play[m + POSITION] - 1], time)
        elif _finish_operators(program, play, m):
            if added == 0 and begin_repeats(world, c):
                break
        else:
            recorded = play[locate_notes(play, c) + RECORDED]
            if recorded > 0 and added == 0 and is_passage_over(plan, play, its, m, recorded - 1):
                finish_recording(world, c)
            time_added = _add_segment(world, c, m)
            if time_added > 0:
                added += time_added
                play[m + SEGMENT] += 1
                if play[m + SEGMENT] < play[m + SEGMENT_END]:
                    _enter_segment(program, play, m)
            elif added > 0 or (_is_due(plan, program, play, its, m) and begin_passage(world, c)):
                break
            else:
                _operate(world, c, m)
    if added > 0:
        play[m + MODE], play[m + UNTIL], play[m + CATEGORY] = COMPUTES, time + added, -1
