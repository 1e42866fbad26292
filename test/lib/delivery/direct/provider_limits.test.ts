import t from 'tap'
import { OutboundWatch } from '#lib/delivery/direct/outbound_watch.ts'
import { ProviderLimits } from '#lib/delivery/direct/provider_limits.ts'
import { asksToSlowDown } from '#lib/delivery/direct/throttling.ts'
import { createLog } from '#lib/log.ts'
import { shows } from '#test/support/shows.ts'

const NAME = 'provider.com'

function open(per_minute = 0) {
  const clock = { ms: 1_000_000 }
  const limits = new ProviderLimits({ connections: 20, per_minute, now: () => clock.ms })
  return { clock, limits }
}

t.test('a provider starts with four connections and gets one more per reply', t => {
  const { limits } = open()
  t.strictSame(limits.share(NAME), { slots: 4, isProven: false })
  limits.answered(NAME)
  t.strictSame(limits.share(NAME), { slots: 5, isProven: true })
  for (let i = 0; i < 30; i++) limits.answered(NAME)
  t.strictSame(limits.share(NAME), { slots: 20, isProven: true })
  t.strictSame(limits.share('other.com'), { slots: 4, isProven: false })
  limits.failed(NAME)
  t.strictSame(limits.share(NAME), { slots: 10, isProven: false }, 'a silent provider has to respond again')
  for (let i = 0; i < 9; i++) limits.failed(NAME)
  t.equal(limits.share(NAME).slots, 1)
  t.end()
})

t.test('a provider that asks to slow down gets half, after a pause from 30 s to 30 min', t => {
  const { limits, clock } = open()
  for (let i = 0; i < 30; i++) limits.answered(NAME)
  for (const [seconds, slots] of [
    [30, 10],
    [60, 5],
    [120, 3],
    [240, 2],
    [480, 1],
    [960, 1],
    [1800, 1],
    [1800, 1],
  ] as const) {
    t.equal(limits.throttled(NAME), seconds)
    t.equal(limits.throttled(NAME), null, 'replies to mail already in progress do not count again')
    limits.answered(NAME)
    t.equal(limits.share(NAME).slots, slots)
    const { delay, reason } = limits.admit(NAME) ?? { delay: 0, reason: '' }
    t.ok(delay >= seconds && delay <= 1.25 * seconds, `${delay} s`)
    t.equal(reason, 'provider.com asked us to slow down.')
    t.equal(limits.admit('other.com'), null)
    clock.ms += seconds * 1_000
    t.equal(limits.admit(NAME), null)
  }
  for (let i = 0; i < 6; i++) limits.answered(NAME)
  t.equal(limits.throttled(NAME), 30, 'after some replies the pause is short again')
  t.equal(limits.share(NAME).slots, 4)
  t.end()
})

t.test('each accepted message halves the next pause of a provider', t => {
  const { limits, clock } = open()
  const pause = () => {
    const seconds = limits.throttled(NAME)
    clock.ms += 1_800_000
    return seconds
  }
  t.strictSame([pause(), pause(), pause(), pause()], [30, 60, 120, 240])
  limits.answered(NAME)
  limits.answered(NAME)
  t.strictSame([pause(), pause()], [120, 240], 'from 480 s to a quarter')
  t.end()
})

t.test('a pause applies beside a rate limit, and to a message that was admitted before', t => {
  const { limits, clock } = open(60)
  const admit = limits.admitMessage()
  t.equal(admit(NAME), null)
  limits.throttled(NAME)
  const reason = 'provider.com asked us to slow down.'
  t.match(admit(NAME), { reason })
  t.match(limits.admit(NAME), { reason })
  t.equal(limits.admit('other.com'), null)
  clock.ms += 30_000
  t.equal(admit(NAME), null)
  t.equal(limits.admit(NAME), null)
  t.end()
})

t.test('the rate limit holds, and delayed messages come back one after the other', t => {
  const { limits, clock } = open(60)
  const sent = () => {
    let count = 0
    while (count < 1_000 && !limits.admit(NAME)) count++
    return count
  }
  t.equal(sent(), 10, 'the number allowed in 10 s may be sent at once')
  const delays = Array.from({ length: 5 }, () => limits.admit(NAME)?.delay)
  t.strictSame(delays, [2, 3, 4, 5, 6], 'one message was already delayed by 1 s')
  t.equal(limits.pauseOf(NAME), null)
  clock.ms += 1_000
  t.equal(sent(), 1)
  let total = 0
  for (let second = 0; second < 60; second++) {
    clock.ms += 1_000
    total += sent()
  }
  t.equal(total, 60)
  clock.ms += 3_600_000
  t.equal(sent(), 10, 'unused slots are not saved up')
  for (let i = 0; i < 1_000; i++) t.ok((limits.admit(NAME)?.delay ?? 0) <= 600)

  const slow = open(1)
  t.equal(slow.limits.admit(NAME), null)
  t.match(slow.limits.admit(NAME), { delay: 60 })
  t.end()
})

t.test('the rate limit delays no message because of rounding', t => {
  for (const per_minute of [1, 2, 3, 6, 7, 11, 60, 90]) {
    const at_once = Math.max(1, Math.floor(per_minute / 6 + 0.001))
    for (let ms = 0.1; ms < 1e9; ms *= 1.37) {
      const limits = new ProviderLimits({ connections: 20, per_minute, now: () => ms })
      let sent = 0
      while (sent < 1_000 && !limits.admit(NAME)) sent++
      t.equal(sent, at_once, `${per_minute} per minute at ${ms} ms`)
    }
  }
  t.end()
})

t.test('requests to slow down are distinguished from greylisting and full mailboxes', t => {
  for (const reply of [
    '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred',
    '421 4.3.2 Closing',
    '421 too much for me',
    '450 4.7.0 Later',
    '451 4.7.28 Our system has detected an unusual rate of unsolicited mail',
    '451 4.7.650 The mail server has been temporarily rate limited due to IP reputation',
    '452 4.3.2 Please try again later',
    '451 4.4.5 Server busy',
    '450 Too many connections from your host',
    '451 4.7.1 You have exceeded your hourly sending limit',
  ]) {
    t.ok(asksToSlowDown(reply), reply)
  }
  for (const reply of [
    '451 4.7.1 Greylisted, try again',
    '450 4.7.0 Graylisting in action',
    '450 4.2.1 The user you are trying to contact is receiving mail at a rate that exceeds his limit',
    '452 4.2.2 Mailbox full',
    '452 4.2.2 Mailbox has exceeded its storage limit',
    '451 4.7.1 Try again later',
    '450 4.1.8 Sender address rejected: Domain not found',
    '550 5.7.1 Rate limited',
    '250 2.0.0 Ok',
    '',
  ]) {
    t.notOk(asksToSlowDown(reply), reply)
  }
  t.end()
})

t.test('OutboundWatch logs an error when no server can be reached', t => {
  const lines: string[] = []
  const clock = { ms: 0 }
  const watch = new OutboundWatch(createLog('info', { write: line => lines.push(line) }), () => clock.ms)
  const fail = (count: number) => {
    for (let n = 0; n < count; n++) watch.unreached(`mx${n}.com`, 'timeout')
  }
  for (let i = 0; i < 10; i++) watch.unreached('mx.com', 'timeout')
  watch.reached()
  fail(4)
  t.equal(lines.length, 0, 'one to four unreachable hosts are not reported')
  clock.ms += 61_000
  watch.unreached('mx9.com', 'timeout')
  t.equal(lines.length, 0)
  fail(5)
  fail(5)
  shows(t, lines, [/"level":50.*npm run doctor/])
  t.equal(lines.length, 1, 'once')
  clock.ms += 600_000
  fail(5)
  t.equal(lines.length, 2)
  t.end()
})

t.test('the rate limit is shared by all workers', t => {
  const admitted = (workers: number) => {
    const { limits } = open(60)
    limits.shareWith(workers)
    return Array.from({ length: 20 }, () => limits.admit(NAME)).filter(delay => delay === null).length
  }
  t.equal(admitted(1), 10, 'the number that the rate allows in ten seconds')
  t.equal(admitted(2), 5)
  t.equal(admitted(0), 10, 'this one is alive')
  t.end()
})
