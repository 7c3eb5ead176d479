"""The innermost loop of the programme over ideals and homes of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.algorithms.homes.shipping import Loads

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEPS_A_SECOND = 1.5e6


class IdealSteps(NamedTuple):
    """Ideals, what can be added to each, and which tensors are still read outside of it.

    Attributes:
        start: [ideals + 1] row pointers into ``above``, the ideals of one supernode more, and ``node``, which it is.
        above: see above.
        node: see above.
        first: [ideals + 1] row pointers into ``live``, the tensors made in an ideal that are read outside of it.
        live: see above.
        left: [ideals, rows] weight of what is outside.
    """

    start: Ints
    above: NDArray[Any]
    node: NDArray[Any]
    first: Ints
    live: Ints
    left: Floats


class Labels(NamedTuple):
    """Splits of ideals.

    Attributes:
        made: [1] how many there are.
        parent: [labels] the split without its last stage.
        device: [labels] that of the last stage.
        ideal: [labels] what is split.
        used: [labels] bits of the used devices, and of those that are passed where devices are in an order.
        load: [labels, devices] what each that has a live tensor is busy for so far; 0 for others.
        channel: [labels, channels] their loads.
        home: [labels, width] where each live tensor is.
        paid: [labels, width] what its device has paid to send it so far.
        passed: [labels, width] bits of the channels that it has gone over.
        dead: [labels] whether another one is as good.
        head: [ideals] the last label of each; ``following``: [labels] the one before it.
        bucket: [buckets] the last label of each hash; ``equal``: [labels] the one before it.
        following: see above.
        equal: see above.
    """

    made: Ints
    parent: Ints
    device: Ints
    ideal: Ints
    used: Ints
    load: Ints
    channel: Ints
    home: Ints
    paid: Ints
    passed: Ints
    dead: Ints
    head: Ints
    bucket: Ints
    following: Ints
    equal: Ints


class Scratch(NamedTuple):
    """Room to work in; between calls all but ``stamp``, ``turn`` and ``next`` is as at the beginning.

    Attributes:
        stamp: [ideals] the search that last came by, and [0] of ``turn`` its number.
        turn: see above.
        home: [tensors] of the label that is extended; ``paid``, ``passed`` likewise.
        paid: see above.
        passed: see above.
        inside: [tensors] how many readers are in the stage.
        member: [n] whether a supernode is in the stage.
        load: [devices].
        channel: [channels].
        need: [devices] what is sure to be sent yet.
        at: [n + 1] ideals on the way up; and what stands at each: the edge to try next, the supernode added, work,
            receiving, changes logged.
        edge: see above.
        added: see above.
        work: see above.
        got: see above.
        logged: see above.
        memory: see above.
        log: [changes, 3] what is changed, which, and its value before.
        next: [1] the label of the ideal to go on with; -1 for its first.
    """

    stamp: Ints
    turn: Ints
    home: Ints
    paid: Ints
    passed: Ints
    inside: Ints
    member: Ints
    load: Ints
    channel: Ints
    need: Ints
    at: Ints
    edge: Ints
    added: Ints
    work: Ints
    got: Ints
    logged: Ints
    memory: Floats
    log: Ints
    next: Ints


def _extend(
    source: int, budget: int, target: int, relaxed: bool, steps: IdealSteps, loads: Loads, labels: Labels, room: Scratch
) -> int:
    """Extend the splits of the ideals from *source* on by one stage whose loads may end at *target* or below.

    Return the ideal to go on with; the number of ideals where the whole is split, by the last label; -1 where there is
    no room for more labels.

    From one ideal, a depth-first search adds supernode after supernode to the stage, over every ideal above once. What
    is paid only grows, so that it turns back where that is too much. A split is left out if another one of the same
    ideal has the same devices and homes, and has paid no more.

    With *relaxed*, homes are not remembered: a device pays the least that it can to send a tensor anywhere and to
    receive it from anywhere, and channels are free.
    """
    k, _n = loads.time.shape
    last = len(steps.start) - 2
    channels = loads.carried.shape[1]
    rows = loads.weight.shape[1]
    buckets = len(labels.bucket)
    most = len(labels.parent)
    while source < last and budget > 0:
        # Every split of the ideal that is alive is extended, from where the last call ran out of its budget.
        x = room.next[0] if room.next[0] >= 0 else labels.head[source]
        room.next[0] = -1
        low = steps.first[source]
        while x >= 0:
            if budget <= 0:
                room.next[0] = x
                return source
            if labels.dead[x]:
                x = labels.following[x]
                continue
            used = labels.used[x]
            # Unfold the split: where each live tensor is, what has been paid to send it, and the loads so far.
            if not relaxed:
                for y in range(low, steps.first[source + 1]):
                    t = steps.live[y]
                    room.home[t] = labels.home[x, y - low]
                    room.paid[t] = labels.paid[x, y - low]
                    room.passed[t] = labels.passed[x, y - low]
                for e in range(k):
                    room.load[e] = labels.load[x, e]
                for c in range(channels):
                    room.channel[c] = labels.channel[x, c]
            for d in range(k):
                if (used >> d) & 1:
                    continue
                # The next stage is on device d. Of unused devices that are equal only the first is tried: others give
                # the same.
                skip = False
                for e in range(d):
                    if loads.kind[e] == loads.kind[d] and not (used >> e) & 1:
                        skip = True
                if skip:
                    continue
                new_used = used | (1 << d)
                if loads.owed >= 0:  # in the order of the devices: none before this one is used any more
                    new_used |= (1 << d) - 1
                    if loads.owed & (1 << d) - 1 & ~used:
                        continue
                # The state of the search: the stage is empty, and each ideal above is come by once in this turn.
                room.turn[0] += 1
                turn = room.turn[0]
                depth, logs = 0, 0
                room.at[0] = source
                room.edge[0] = steps.start[source]
                room.work[0] = 0
                room.got[0] = 0
                room.memory[0] = 0.0
                while depth >= 0:
                    i = room.at[depth]
                    f = room.edge[depth]
                    back = f == steps.start[i + 1]
                    if not back:
                        room.edge[depth] += 1
                        j = steps.above[f]
                        v = steps.node[f]
                        if room.stamp[j] == turn:
                            continue
                        room.stamp[j] = turn
                        budget -= 1
                        # Way down: supernode v joins the stage, if work and memory allow it.
                        work = room.work[depth] + loads.time[d, v]
                        memory = room.memory[depth] + loads.memory[v]
                        if work > target or memory > loads.room[d]:
                            continue
                        got = room.got[depth]
                        depth += 1
                        room.at[depth] = j
                        room.edge[depth] = steps.start[j]
                        room.added[depth] = v
                        room.logged[depth] = logs
                        fits = True
                        # The first reader of a tensor in the stage has it brought here: its home pays to send it, and
                        # every channel on the way carries it, where it has not done so before. What this changes is
                        # logged, to be undone on the way back.
                        for y in range(loads.first[v], loads.first[v + 1]):
                            t = loads.tensor[y]
                            if room.member[loads.producer[t]]:
                                continue
                            room.inside[t] += 1
                            if room.inside[t] > 1:
                                continue
                            if relaxed:
                                got += loads.least_received[t, d]
                                continue
                            h = room.home[t]
                            got += loads.received[t, h, d]
                            cost = loads.sent[t, h, d]
                            if loads.serial == 0:
                                cost = max(0, cost - room.paid[t])
                            room.log[logs, 0] = 0
                            room.log[logs, 1] = t
                            room.log[logs, 2] = room.paid[t]
                            room.log[logs + 1, 0] = 1
                            room.log[logs + 1, 1] = h
                            room.log[logs + 1, 2] = room.load[h]
                            logs += 2
                            if loads.serial == 0:
                                room.paid[t] += cost
                            room.load[h] += cost
                            if room.load[h] > target:
                                fits = False
                            for z in range(loads.route[h * k + d], loads.route[h * k + d + 1]):
                                c = loads.channel[z]
                                if loads.serial == 0 and (room.passed[t] >> c) & 1:
                                    continue
                                room.log[logs, 0] = 2
                                room.log[logs, 1] = c
                                room.log[logs, 2] = room.channel[c]
                                room.log[logs + 1, 0] = 3
                                room.log[logs + 1, 1] = t
                                room.log[logs + 1, 2] = room.passed[t]
                                logs += 2
                                room.passed[t] |= 1 << c
                                room.channel[c] += loads.carried[t, c]
                                if room.channel[c] > target:
                                    fits = False
                        # What is received, and work where both add up, only grows: beyond the target there is no larger
                        # stage either. In the order of the devices, those that must have a node must have got one.
                        room.member[v] = 1
                        room.work[depth] = work
                        room.got[depth] = got
                        room.memory[depth] = memory
                        busy = work + got if loads.mode[d] == 0 else got
                        if busy > target:
                            fits = False
                        if not fits or (j == last and loads.owed > 0 and loads.owed & ~new_used):
                            back = True
                        # All supernodes are placed within the target: the whole is split.
                        elif j == last:
                            if labels.made[0] == most:
                                return -1
                            new = labels.made[0]
                            labels.made[0] += 1
                            labels.parent[new] = x
                            labels.device[new] = d
                            labels.ideal[new] = j
                            return last + 1
                        else:
                            # The devices left must be able to take what is outside of j: each row of prices, times the
                            # target, bounds that.
                            good = True
                            for p in range(rows):
                                price = 0.0
                                for e in range(k):
                                    if not (new_used >> e) & 1:
                                        price += loads.price[e, p]
                                if steps.left[j, p] > target * price:
                                    good = False
                                    break
                            if not good:
                                continue
                            # What is sure to be sent yet: of each live tensor the least to an unused device, charged to
                            # its home.
                            begin, end = steps.first[j], steps.first[j + 1]
                            base = busy if loads.mode[d] != 1 else 0
                            if relaxed:
                                for y in range(begin, end):
                                    t = steps.live[y]
                                    if room.member[loads.producer[t]]:
                                        base += loads.least_sent[t, d]
                                if base > target:
                                    continue
                            else:
                                for e in range(k):
                                    room.need[e] = -1
                                for y in range(begin, end):
                                    t = steps.live[y]
                                    h = room.home[t]
                                    paid = room.paid[t]
                                    if room.member[loads.producer[t]]:
                                        h = d
                                        paid = 0
                                    if room.need[h] < 0:
                                        room.need[h] = base if h == d else room.load[h]
                                    cost = target + 1
                                    for e in range(k):
                                        if not (new_used >> e) & 1:
                                            cost = min(cost, loads.sent[t, h, e])
                                    room.need[h] += max(0, cost - paid)
                                for e in range(k):
                                    if room.need[e] > target:
                                        good = False
                                if not good:
                                    continue
                            # Look for splits of the same ideal with the same devices and homes, by their hash.
                            code = new_used * 1_000_003 + j
                            if not relaxed:
                                for y in range(begin, end):
                                    t = steps.live[y]
                                    h = d if room.member[loads.producer[t]] else room.home[t]
                                    code = (code * 31 + h + 1) % 72_057_594_037_927_931
                            code %= buckets
                            other, previous = labels.bucket[code], -1
                            while other >= 0:
                                budget -= 1
                                after = labels.equal[other]
                                if labels.dead[other]:  # never to be compared with again
                                    if previous < 0:
                                        labels.bucket[code] = after
                                    else:
                                        labels.equal[previous] = after
                                    other = after
                                    continue
                                same = labels.ideal[other] == j and labels.used[other] == new_used
                                if same and relaxed:
                                    good = False
                                    break
                                # Same devices; are the homes, and the channels passed, the same?
                                if same:
                                    for y in range(begin, end):
                                        t = steps.live[y]
                                        made = room.member[loads.producer[t]]
                                        h = d if made else room.home[t]
                                        passed = 0 if made else room.passed[t]
                                        z = y - begin
                                        if labels.home[other, z] != h or labels.passed[other, z] != passed:
                                            same = False
                                            break
                                # Dominance: the other split is as good if no channel and no load is larger, also when
                                # it pays up to what has been paid here for a tensor that is sent again; and the other
                                # way round.
                                if same:
                                    worse, better = True, True
                                    for c in range(channels):
                                        if labels.channel[other, c] > room.channel[c]:
                                            worse = False
                                        elif labels.channel[other, c] < room.channel[c]:
                                            better = False
                                    for e in range(k):
                                        if room.need[e] < 0:
                                            continue
                                        mine = base if e == d else room.load[e]
                                        theirs = labels.load[other, e]
                                        up, down = theirs, mine
                                        for y in range(begin, end):
                                            t = steps.live[y]
                                            made = room.member[loads.producer[t]]
                                            if (d if made else room.home[t]) == e:
                                                paid = 0 if made else room.paid[t]
                                                up += max(0, paid - labels.paid[other, y - begin])
                                                down += max(0, labels.paid[other, y - begin] - paid)
                                        if up > mine:
                                            worse = False
                                        if down > theirs:
                                            better = False
                                    if worse:
                                        good = False
                                        break
                                    if better:
                                        labels.dead[other] = 1
                                previous, other = other, after
                            # Store the new split, and what it has to remember: the loads of the homes of live tensors,
                            # and where these are.
                            if not good:
                                continue
                            if labels.made[0] == most:
                                return -1
                            new = labels.made[0]
                            labels.made[0] += 1
                            labels.parent[new] = x
                            labels.device[new] = d
                            labels.ideal[new] = j
                            labels.used[new] = new_used
                            if not relaxed:
                                for c in range(channels):
                                    labels.channel[new, c] = room.channel[c]
                                for e in range(k):
                                    labels.load[new, e] = 0
                                    if room.need[e] >= 0:
                                        labels.load[new, e] = base if e == d else room.load[e]
                                for y in range(begin, end):
                                    t = steps.live[y]
                                    z = y - begin
                                    if room.member[loads.producer[t]]:
                                        labels.home[new, z] = d
                                        labels.paid[new, z] = 0
                                        labels.passed[new, z] = 0
                                    else:
                                        labels.home[new, z] = room.home[t]
                                        labels.paid[new, z] = room.paid[t]
                                        labels.passed[new, z] = room.passed[t]
                            labels.following[new] = labels.head[j]
                            labels.head[j] = new
                            labels.equal[new] = labels.bucket[code]
                            labels.bucket[code] = new
                            continue
                    # Way back: take the last supernode out of the stage, and undo what is logged since.
                    if back:
                        if depth > 0:
                            v = room.added[depth]
                            room.member[v] = 0
                            for y in range(loads.first[v], loads.first[v + 1]):
                                t = loads.tensor[y]
                                if not room.member[loads.producer[t]]:
                                    room.inside[t] -= 1
                            while logs > room.logged[depth]:
                                logs -= 1
                                which, value = room.log[logs, 1], room.log[logs, 2]
                                if room.log[logs, 0] == 0:
                                    room.paid[which] = value
                                elif room.log[logs, 0] == 1:
                                    room.load[which] = value
                                elif room.log[logs, 0] == 2:
                                    room.channel[which] = value
                                else:
                                    room.passed[which] = value
                        depth -= 1
            x = labels.following[x]
        source += 1
    return source


EXTEND = Kernel(_extend, STEPS_A_SECOND)
