# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the property runs are drawn from: legal plans, and ones that rdmeter has to refuse."""

import dataclasses
import random

OUT = ('send', 'send_imm', 'write', 'write_imm')  # whose payload leaves the side that posts
RECEIVES = ('send', 'send_imm', 'write_imm')
ATOMIC = ('cas', 'fadd')
OPS = OUT + ('read',) + ATOMIC
ON = {'rc': OPS, 'uc': OUT, 'ud': ('send', 'send_imm')}  # which transport has what
MOST_BYTES = 24 << 20  # of a row
MOST_NS = 30_000_000  # that a row may take by what the device is told to take


@dataclasses.dataclass
class Plan:
    """One client and one server: what is asked, what their devices are, what is to come of it."""
    ops: list
    tests: list
    args: dict = dataclasses.field(default_factory=dict)
    client: dict = dataclasses.field(default_factory=dict)  # FAKEVERBS of each side
    server: dict = dataclasses.field(default_factory=dict)
    lates: list = dataclasses.field(default_factory=list)
    code: int = 0
    says: str = ''  # a word of the one line with which it is refused

    def rows(self):
        return [(op, test) for op in self.ops for test in self.tests]

    def words(self):
        words = ['--op', ','.join(self.ops), '--test', ','.join(self.tests)]
        for name, value in self.args.items():
            words += ['--' + name] if value is None else ['--' + name, str(value)]
        return words

    def lossy(self):
        """Whether messages may be lost: also for want of a receive."""
        return self.args.get('connection', 'rc') != 'rc'

    def total(self):
        """Messages of a queue pair, warm-up included."""
        return self.args['iters'] + self.args.get('warmup', min(self.args['iters'] // 10, 1000))


def uneven(r, low, high):
    """Small numbers and the ends are as likely as all of the others together."""
    kind = r.random()
    if kind < 0.15:
        return low
    if kind < 0.25:
        return high
    if kind < 0.6:
        return r.randint(low, min(high, low + 8))
    return r.randint(low, high)


def default_depth(size, qps):
    return max(2, min(128, (8 << 20) // size // qps))


def draw_size(r, plan):
    if any(op in ATOMIC for op in plan.ops):
        return 8
    if r.random() < 0.3:
        return r.choice((1, 7, 8, 63, 64, 65, 1024, 4095, 4096, 4097, 65536))
    return max(1, int(2 ** r.uniform(0, 16)))


def draw_memory(r, plan):
    atomic = any(op in ATOMIC for op in plan.ops)
    if r.random() < 0.4:
        plan.args['align'] = 1 << r.randint(3 if atomic else 0, 14)
        step = 8 if atomic else 1
        if r.random() < 0.7:
            plan.args['offset'] = r.randrange(0, plan.args['align'], step)


def draw_buffers(r, plan):
    """How large, of what, and registered how."""
    args, lat = plan.args, 'lat' in plan.tests
    if not lat and not any(op in ATOMIC for op in plan.ops) and r.random() < 0.3:
        args['slots'] = uneven(r, 1, max(1, min(300, MOST_BYTES // args['size'] // args.get('qp', 1))))
    if r.random() < 0.3:
        args['mr'] = r.choice(('one', 'qp'))
    if r.random() < 0.3:
        args['memory'] = r.choice(('malloc', 'shm', 'udmabuf'))
        plan.client['dmabuf'] = plan.server['dmabuf'] = 1
    if not any(op in ATOMIC for op in plan.ops) and r.random() < 0.3:
        args['sge'] = min(args['size'], r.randint(1, 4))
    if args.get('connection', 'rc') == 'rc' and r.random() < 0.2:
        args['odp'] = None
        plan.client['odp'] = plan.server['odp'] = 1
    if r.random() < 0.3:
        args['relaxed-ordering'] = 'off' if lat else r.choice(('on', 'off'))


def draw_receives(r, plan, depth, rx_depth):
    """Of one queue for all; given back in lists, of which the last may stay. How many there are."""
    args = plan.args
    if args.get('connection') != 'uc' and all(op in RECEIVES for op in plan.ops) and r.random() < 0.3:
        args['srq'] = None
        rx_depth = args.get('rx-depth', min(2 * depth * args.get('qp', 1), 4096))
    if 'lat' not in plan.tests and r.random() < 0.3:
        args['recv-batch'] = uneven(r, 1, rx_depth)
    return rx_depth


def draw_post(r, plan):
    if r.random() < 0.3:
        plan.args['post-api'] = r.choice(('legacy', 'wr', 'wr'))


def draw_events(r, plan):
    """Not where nothing wakes."""
    if 'lat' in plan.tests and 'write' in plan.ops:
        return
    if r.random() < 0.25:
        plan.args['events'] = None


def draw_verify(r, plan, depth, rx_depth):
    """With a place for each message in flight."""
    args = plan.args
    if plan.lossy() and args['size'] < 16:
        return  # too short to tell which message it is
    if r.random() < 0.3 and args['size'] * args.get('qp', 1) * (depth + rx_depth) < MOST_BYTES:
        args['verify'] = None


def draw_inline(r, plan):
    """Also just at the limit of the devices, and one beyond it."""
    if any(op not in OUT for op in plan.ops) or r.random() < 0.5:
        return
    most = plan.args['inline'] = uneven(r, 0, 256)
    if most > 1 and r.random() < 0.5:
        plan.args['size'] = most + r.choice((-1, 0, 1))
        plan.client['max_inline'] = plan.server['max_inline'] = most


def draw_lists(r, plan):
    """Lists of which the last that fits may end before the signaling interval does."""
    depth = plan.args['tx-depth'] = r.randint(3, 128)
    batch = plan.args['batch'] = r.randint(2, depth)
    plan.args['signal'] = r.randint(min(depth, depth // batch * batch + 1), depth)


def draw_queues(r, plan):
    args, lat = plan.args, 'lat' in plan.tests
    draw_inline(r, plan)
    if not lat and r.random() < 0.5:
        args['qp'] = uneven(r, 1, 16)
        if r.random() < 0.5:
            args['threads'] = r.randint(1, min(4, args['qp']))
    if r.random() < 0.75:
        args['tx-depth'] = uneven(r, 1, 128)
    depth = args.get('tx-depth', default_depth(args['size'], args.get('qp', 1)))
    if not lat and r.random() < 0.15:
        draw_lists(r, plan)
        depth = args['tx-depth']
    elif not lat and r.random() < 0.6:
        args['batch'] = uneven(r, 1, depth)
    if 'signal' not in args and r.random() < 0.6 and not (lat and any(op in ('read',) + ATOMIC for op in plan.ops)):
        args['signal'] = uneven(r, 1, depth)
    if r.random() < 0.5:
        args['rx-depth'] = uneven(r, 2 if lat else 1, 256)
    if not lat and r.random() < 0.5:
        args['stamp'] = r.choice(('all', 'off', 1 << r.randint(0, 12)))
    if r.random() < 0.4:
        args['outs'] = uneven(r, 1, 32)
    if not plan.lossy() and r.random() < 0.3:
        args['rdma-cm'] = None  # a flag
        if r.random() < 0.5:
            args['tos'] = uneven(r, 0, 255)
    if any(op in ATOMIC for op in plan.ops) and r.random() < 0.4:
        args['atomic-target'] = 'shared'
    return depth, args.get('rx-depth', min(2 * depth, 512))


def draw_devices(r, plan, depth, rx_depth):
    """Limits that leave the plan possible; each side has its own."""
    least_cqe = max(depth, rx_depth if any(op in RECEIVES for op in plan.ops) else 1)
    for side in (plan.client, plan.server):
        if r.random() < 0.4:
            side['max_cqe'] = uneven(r, least_cqe, least_cqe * 4)
        if r.random() < 0.3:
            side['max_qp_wr'] = max(depth, rx_depth) + r.choice((0, 1, 7))
        if 'max_inline' not in side and r.random() < 0.4:
            side['max_inline'] = max(plan.args.get('inline', 0), r.choice((0, 1, 7, 96, 101)))
        if r.random() < 0.4:
            side['max_rd_atomic'] = uneven(r, 1, 16)
            side['max_dest_rd_atomic'] = uneven(r, 1, 16)
    if plan.args.get('connection') == 'ud':
        return  # see legal()
    if r.random() < 0.2:
        plan.client['mtu'] = plan.server['mtu'] = r.choice((256, 1024, 2048))
    elif r.random() < 0.2:
        plan.args['mtu'] = r.choice((256, 512, 4096))


PKEYS = 'ffff,8001,7'


def draw_path(r, plan):
    """How the ends are connected; the device tells what it was given."""
    draws = {'sl': 15, 'tclass': 255, 'flow-label': 0xfffff, 'pkey-index': 1}
    for name, most in draws.items():
        if r.random() < 0.15 and not (name == 'tclass' and 'tos' in plan.args):
            plan.args[name] = uneven(r, 0, most)
    if r.random() < 0.15:
        plan.args['hop-limit'] = uneven(r, 1, 255)
    if not plan.lossy() and r.random() < 0.15:
        plan.args['min-rnr'] = uneven(r, 1, 20)
    plan.client['pkeys'] = plan.server['pkeys'] = PKEYS


def draw_retries(r, plan):
    """Of a wire that loses nothing: the others need their retries, and time for them."""
    if not plan.lossy() and 'drop' not in plan.client and 'drop' not in plan.server:
        if r.random() < 0.2:
            plan.args['retry'] = uneven(r, 0, 7)
        if r.random() < 0.2:
            plan.args['qp-timeout'] = uneven(r, 0, 31)


def draw_count(r, plan, rx_depth):
    """As many messages as a row can take: of bytes, of receives that the peer has to give back."""
    args, lat = plan.args, 'lat' in plan.tests
    qps = args.get('qp', 1)
    most = min(3000, MOST_BYTES // args['size'] // qps)
    if any(op in RECEIVES for op in plan.ops):
        most = min(most, 50 * rx_depth // qps)
    most = min(most, 20) if lat and any(op not in ('read',) + ATOMIC for op in plan.ops) else most
    args['iters'] = uneven(r, 1, max(1, most)) if r.random() < 0.6 else r.randint(1, max(1, most))
    if r.random() < 0.8:
        args['warmup'] = 0
    elif r.random() < 0.5:
        args['warmup'] = uneven(r, 1, max(1, most // 4))


def draw_pace(r, plan):
    """A schedule that takes 1 to 250 ms, or a pause behind each answer of a latency test."""
    if r.random() < 0.75 or ('events' in plan.args and 'bw' in plan.tests):
        return
    args = plan.args
    messages = plan.total() * args.get('qp', 1)
    if plan.tests == ['lat'] and r.random() < 0.3:
        args['gap'] = f'{r.randint(0, 250_000 // messages)}us'
        return
    args.pop('batch', None)
    args.pop('threads', None)
    args['rate'] = max(10, int(messages / r.uniform(0.001, 0.25)))
    if r.random() < 0.4:
        args['burst'] = uneven(r, 1, min(40, args['rate'] // 4))  # 20 mean gaps are within 5 s
    if r.random() < 0.5:
        args['arrival'] = 'poisson'
        args['seed'] = r.randint(1, 1 << 50)


def draw_faults(r, plan):
    """What a run has to survive: loss, a wire, a slow device, completions that are late."""
    messages = plan.total() * plan.args.get('qp', 1)
    for side in (plan.client, plan.server):
        most = MOST_NS // (4 * messages)
        if plan.lossy() and r.random() < 0.6:
            side['drop'] = r.choice((1, 10, 100, 300, 1000))
            side['seed'] = r.randint(1, 1 << 32)
        elif r.random() < 0.25 and not plan.lossy():
            side['drop'] = min(30, max(600, 3000 - messages) // messages)  # each costs 67 ms
            side['seed'] = r.randint(1, 1 << 32)
        if r.random() < 0.25:
            side['wire'] = r.randint(0, min(50_000, most))
        if r.random() < 0.25:
            side['pace'] = r.randint(0, min(5_000, most))
        if r.random() < 0.25:
            side['late'] = r.randint(0, min(50_000, most))
        elif r.random() < 0.2:
            side['late'] = '@lates'
            plan.lates = [r.randint(0, min(50_000, most)) for _ in range(r.randint(1, 20))]


def legal(r):
    connection = r.choice(('rc', 'rc', 'uc', 'ud'))
    plan = Plan(r.sample(ON[connection], r.choice((1, 1, 1, 2, 2 if connection == 'ud' else 3))),
                r.choice((['bw'], ['bw'], ['bw'], ['lat'], ['lat', 'bw'])))
    lat = 'lat' in plan.tests
    if connection != 'rc' or r.random() < 0.5:
        plan.args['connection'] = connection
    if plan.lossy():
        plan.args['loss-timeout'] = f'{r.randint(2, 30)}ms'
    plan.args['direction'] = r.choice(('out', 'in') if lat else ('out', 'in', 'both'))
    plan.args['size'] = draw_size(r, plan)
    if connection == 'ud':
        mtu = plan.client['mtu'] = plan.server['mtu'] = r.choice((1024, 2048, 4096))
        plan.args['size'] = min(plan.args['size'], mtu)
    depth, rx_depth = draw_queues(r, plan)
    draw_memory(r, plan)
    draw_buffers(r, plan)
    draw_events(r, plan)
    draw_post(r, plan)
    rx_depth = draw_receives(r, plan, depth, rx_depth)
    draw_verify(r, plan, depth, rx_depth)
    draw_count(r, plan, rx_depth)
    draw_devices(r, plan, depth, rx_depth)
    draw_pace(r, plan)
    draw_faults(r, plan)
    draw_path(r, plan)
    draw_retries(r, plan)
    return plan


# Why a plan cannot be: exit code, words of the command line, FAKEVERBS of one side, operation and
# test, and a word that the refusal has.
REFUSALS = (
    (2, {'signal': 9, 'tx-depth': 8}, {}, 'write', 'bw', '--signal 9 with --tx-depth 8'),
    (2, {'batch': 9, 'tx-depth': 8}, {}, 'send', 'bw', '--batch 9 with --tx-depth 8'),
    (2, {'batch': 2}, {}, 'send', 'lat', '--batch 2'),
    (2, {'stamp': 2}, {}, 'read', 'lat', '--stamp 2'),
    (2, {'stamp': 3}, {}, 'write', 'bw', '--stamp 3'),
    (2, {'qp': 2}, {}, 'write', 'lat', '--qp 2'),
    (2, {'threads': 2}, {}, 'send', 'lat', '--threads 2 with --test lat'),
    (2, {'threads': 3, 'qp': 2}, {}, 'send', 'bw', '--threads 3 with --qp 2'),
    (2, {'threads': 2, 'qp': 2, 'rate': 1000}, {}, 'write', 'bw', '--threads 2 with --rate'),
    (2, {'threads': 257, 'qp': 1000}, {}, 'write', 'bw', '--threads'),
    (2, {'threads': 2, 'qp': 2, 'samples': '/dev/null'}, {}, 'write', 'bw',
     '--threads 2 with --samples'),
    (2, {'direction': 'both'}, {}, 'send', 'lat', 'direction both'),
    (2, {'rx-depth': 1}, {}, 'send_imm', 'lat', '--rx-depth 1'),
    (2, {'align': 48}, {}, 'write', 'bw', '--align 48'),
    (2, {'align': 64, 'offset': 64}, {}, 'write', 'bw', '--offset 64'),
    (2, {'offset': 4}, {}, 'cas', 'bw', '--offset 4'),
    (2, {'size': 16}, {}, 'fadd', 'bw', '--size 16'),
    (2, {'size': 4}, {}, 'fadd', 'bw', '--size 4'),
    (2, {'inline': 8}, {}, 'read', 'bw', '--inline 8'),
    (2, {'signal': 2}, {}, 'read', 'lat', '--signal 2'),
    (2, {'duration': 1}, {}, 'write', 'bw', '--duration 1'),
    (2, {'burst': 2}, {}, 'write', 'bw', '--burst 2'),
    (2, {'arrival': 'poisson'}, {}, 'send', 'lat', '--arrival poisson'),
    (2, {'rate': 1000, 'seed': 2}, {}, 'write', 'bw', '--seed 2'),
    (2, {'rate': 1000, 'batch': 2}, {}, 'read', 'bw', '--batch 2 with --rate'),
    (2, {'rate': 1000, 'gap': '1us'}, {}, 'read', 'lat', '--gap with --rate'),
    (2, {'gap': '1us'}, {}, 'write', 'bw', '--gap with --test bw'),
    (2, {'rate': 0.1}, {}, 'fadd', 'bw', '--stall-timeout with --rate'),
    (2, {'rate': '2G'}, {}, 'write', 'bw', '--rate 2G with'),
    (2, {'rate': '1Gb'}, {}, 'write', 'bw', "--rate '1Gb'"),
    (2, {'qp': 0}, {}, 'write', 'bw', '--qp'),
    (2, {'qp': 4097}, {}, 'write', 'bw', '--qp'),
    (2, {'tos': 4}, {}, 'write', 'bw', '--tos 4: '),
    (2, {'rdma-cm': None, 'tos': 4, 'tclass': 8}, {}, 'write', 'bw', '--tos 4 with --tclass 8: '),
    (2, {'rdma-cm': None, 'tos': 256}, {}, 'write', 'bw', '--tos'),
    (2, {'tx-depth': '8x'}, {}, 'write', 'bw', '--tx-depth'),
    (2, {'connection': 'uc'}, {}, 'read', 'bw', '--op read with --connection UC'),
    (2, {'connection': 'uc'}, {}, 'cas', 'lat', '--op cas with --connection UC'),
    (2, {'connection': 'ud'}, {}, 'write', 'lat', '--op write with --connection UD'),
    (2, {'connection': 'uc', 'retry': 3}, {}, 'write', 'bw', '--retry 3 with --connection UC'),
    (2, {'connection': 'ud', 'qp-timeout': 0}, {}, 'send', 'bw', '--qp-timeout 0 with --connection UD'),
    (2, {'connection': 'ud', 'rdma-cm': None}, {}, 'send', 'bw', '--rdma-cm with --connection'),
    (2, {'connection': 'uc', 'verify': None, 'size': 15}, {}, 'write', 'bw', '--size 15 with --verify'),
    (2, {'connection': 'xrc'}, {}, 'write', 'bw', '--connection'),
    (2, {'connection': 'uc', 'loss-timeout': 10}, {}, 'send', 'lat', '--loss-timeout with'),
    (3, {'connection': 'ud', 'size': 1025}, {'mtu': 1024}, 'send', 'bw', '--size 1025'),
    (3, {'tx-depth': 65}, {'max_qp_wr': 64}, 'write', 'bw', '--tx-depth 65'),
    (3, {'rx-depth': 65, 'tx-depth': 4}, {'max_qp_wr': 64}, 'send', 'bw', '--rx-depth 65'),
    (3, {'tx-depth': 65}, {'max_cqe': 64}, 'write', 'bw', '--tx-depth 65'),
    (3, {'rx-depth': 65, 'tx-depth': 4}, {'max_cqe': 64}, 'send', 'bw', '--rx-depth 65'),
    (3, {'size': 4097}, {'max_msg_sz': 4096}, 'write', 'bw', '--size 4097'),
    (3, {'qp': 5}, {'max_qp': 4}, 'write', 'bw', '--qp 5'),
    (3, {}, {'atomics': 0}, 'fadd', 'bw', '--op fadd'),
    (3, {}, {'max_rd_atomic': 0}, 'read', 'bw', '--op read'),
    (3, {}, {'max_dest_rd_atomic': 0}, 'cas', 'lat', '--op cas'),
    (3, {'inline': 97}, {'max_inline': 96}, 'send', 'bw', '--inline 97'),
    (3, {'mtu': 4096}, {'mtu': 1024}, 'write', 'bw', '--mtu 4096'),
    (2, {'slots': 2}, {}, 'send', 'lat', '--slots 2'),
    (2, {'slots': 2}, {}, 'fadd', 'bw', '--slots 2 with --op fadd'),
    (2, {'relaxed-ordering': 'on'}, {}, 'write', 'lat', '--relaxed-ordering on with --test lat'),
    (2, {'memory': 'gold'}, {}, 'write', 'bw', "--memory 'gold'"),
    (3, {'memory': 'udmabuf'}, {'dmabuf': 2}, 'write', 'bw', '--memory udmabuf: '),
    (3, {'memory': 'file:/nowhere/at/all'}, {}, 'write', 'bw', '--memory file: /nowhere/at/all: '),
    (2, {'sge': 4, 'size': 3}, {}, 'write', 'bw', '--sge 4 with --size 3'),
    (2, {'sge': 2}, {}, 'cas', 'bw', '--sge 2 with --op cas'),
    (3, {'sge': 3}, {'max_sge': 2}, 'send', 'bw', '--sge 3'),
    (2, {'events': None, 'rate': '1k'}, {}, 'send', 'bw', '--events with --rate'),
    (2, {'events': None}, {}, 'write', 'lat', '--events with --test lat'),
    (2, {'post-api': 'new'}, {}, 'write', 'bw', "--post-api 'new'"),
    (3, {'post-api': 'wr'}, {'wr_api': 0}, 'read', 'bw', '--post-api wr: '),
    (2, {'srq': None}, {}, 'write', 'bw', '--srq with --op write'),
    (3, {'odp': None}, {}, 'write', 'bw', '--odp: '),
    (2, {'srq': None, 'connection': 'uc'}, {}, 'send', 'bw', '--srq with --connection UC'),
    (2, {'srq': None}, {}, 'read', 'lat', '--srq with --op read'),
    (3, {'srq': None}, {'max_srq_wr': 0}, 'send', 'bw', '--srq: '),
    (3, {'srq': None, 'rx-depth': 65}, {'max_srq_wr': 64}, 'send', 'bw', '--rx-depth 65'),
    (2, {'recv-batch': 9, 'rx-depth': 8}, {}, 'send', 'bw', '--recv-batch 9 with --rx-depth 8'),
    (2, {'recv-batch': 2}, {}, 'send', 'lat', '--recv-batch 2 with --test lat'),
    (2, {'hop-limit': 0}, {}, 'write', 'bw', '--hop-limit'),
    (2, {'retry': 8}, {}, 'write', 'bw', '--retry'),
    (3, {'pkey-index': 1}, {}, 'write', 'bw', '--pkey-index 1'),
    (3, {'ib-port': 2}, {}, 'write', 'bw', 'port'),
    (3, {'gid-index': 9}, {}, 'write', 'bw', '--gid-index 9'),
    (3, {'rdma-cm': None, 'qp': 2}, {'cm_device': 1, 'devices': 2}, 'write', 'bw', 'the path goes by fake1'),
    (3, {}, {'state=down': None}, 'write', 'bw', 'DOWN'),
)


def illegal(r, number):
    code, args, device, op, test, says = REFUSALS[number]
    plan = Plan([op], [test], code=code, says=says)
    plan.args.update(iters=r.randint(1, 3000), warmup=0)
    plan.args.update(args)
    # A size that the server's device does not inline is no refusal: the table shows what it grants.
    side = plan.client if 'max_inline' in device else r.choice((plan.client, plan.server))
    side.update(device)
    return plan


def corrupt(r):
    """
    The last message of all is wrong, so that nothing can have put it right; where each is looked
    at as it comes, any of them.
    """
    plan = Plan([r.choice(OUT)], ['bw'], code=4, says='data')
    plan.args.update(direction=r.choice(('out', 'in', 'both')), size=draw_size(r, plan))
    # Of the other operations the last message may be lost, for want of a receive.
    if plan.ops == ['write'] and r.random() < 0.5:
        plan.args['connection'] = 'uc'
    depth, rx_depth = draw_queues(r, plan)
    draw_memory(r, plan)
    draw_verify(r, plan, depth, rx_depth)
    draw_count(r, plan, rx_depth)
    side = plan.server if plan.args['direction'] == 'in' else plan.client
    messages = side['corrupt'] = plan.total() * plan.args.get('qp', 1)
    if 'verify' in plan.args and plan.ops[0] in RECEIVES:
        side['corrupt'] = r.randint(1, messages)
    return plan


def draw(seed, number):
    """
    The plans that are refused come first. Every plan has a seed of its own, so that one can be
    run without those before it.
    """
    r = random.Random(f'{seed}:{number}')
    if number < len(REFUSALS):
        return illegal(r, number)
    return corrupt(r) if r.random() < 0.04 else legal(r)
