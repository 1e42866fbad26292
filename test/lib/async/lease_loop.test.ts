import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { LeaseLoop, type LeaseTimes } from '#lib/async/lease_loop.ts'
import { createLog } from '#lib/log.ts'

const log = createLog('silent')

/** Work with slow claims of one item each; an item ends when it is given back or given up. */
class Work extends LeaseLoop<string> {
  readonly calls: string[] = []
  readonly held = Promise.withResolvers<void>()
  isHeld = false
  claim_ms = 5
  error: Error | null = null
  endsWhen: 'given back' | 'given up' = 'given back'
  again_ms = 0

  constructor(times: Partial<LeaseTimes> = {}) {
    super(log, 'work', { poll_ms: 60_000, heartbeat_ms: 60_000, drain_ms: 60_000, ...times })
  }

  override async idle(): Promise<void> {
    if (this.isHeld) await this.held.promise
  }

  protected override async claim(ids: string[] | null): Promise<void> {
    this.calls.push(`claim ${ids ?? 'all'}`)
    if (this.again_ms > 0) for (const _ of [1, 2]) this.lookIn(this.again_ms)
    await sleep(this.claim_ms)
    if (this.error) throw this.error
    this.isHeld = true
    this.calls.push('claimed')
  }

  protected override async extendLeases(): Promise<void> {
    this.calls.push('extend')
    if (this.error) throw this.error
  }

  protected override giveBack(): void {
    this.calls.push('give back')
    if (this.endsWhen === 'given back') this.#end()
  }

  protected override giveUp(): void {
    this.calls.push('give up')
    this.#end()
  }

  #end(): void {
    this.isHeld = false
    this.held.resolve()
  }
}

t.test('LeaseLoop combines offers made during a claim into the next claim', async t => {
  const work = new Work()
  const first = work.offer(['a'])
  await sleep(1)
  await Promise.all([first, work.offer(['b']), work.offer(['c', 'd'])])
  t.strictSame(work.calls, ['claim a', 'claimed', 'claim b,c,d', 'claimed'])
  await work.stop()
})

t.test('LeaseLoop makes one claim for everything due in place of concurrent offers', async t => {
  const work = new Work({ poll_ms: 20 })
  work.claim_ms = 30
  work.start()
  await work.offer(['a'])
  await Promise.all([work.offer(['b']), sleep(40)])
  t.strictSame(work.calls.slice(0, 3), ['claim a', 'claimed', 'claim all'])
  await work.stop()
})

t.test('LeaseLoop polls and extends leases until stopped, despite errors', async t => {
  const work = new Work({ poll_ms: 10, heartbeat_ms: 10 })
  work.error = new Error('Postgres is away')
  await t.rejects(work.offer(['a']), work.error)
  work.start()
  work.start() // its timers would go on after the stop if they were set twice
  await sleep(200)
  const count = (name: string) => work.calls.filter(call => call === name).length
  t.ok(count('claim all') > 2 && count('extend') > 2, work.calls.join())
  await work.stop()
  const calls = work.calls.length
  await sleep(40)
  t.equal(work.calls.length, calls, 'nothing is called after the stop')
})

t.test('stop gives back the items of a claim in progress and claims no more', async t => {
  const work = new Work()
  const offered = work.offer(['a'])
  await sleep(1)
  const stopped = work.stop()
  await Promise.all([offered, stopped, work.offer(['b'])])
  t.strictSame(work.calls, ['claim a', 'claimed', 'give back', 'give up'])
})

t.test('stop gives up items that have not ended within drain_ms', async t => {
  const work = new Work({ drain_ms: 50 })
  work.endsWhen = 'given up'
  await work.offer(['a'])
  const started_at = performance.now()
  await work.stop()
  t.ok(performance.now() - started_at >= 45, 'it waits before it gives up') // a busy machine only adds to it
  t.strictSame(work.calls, ['claim a', 'claimed', 'give back', 'give up'])
})

t.test('lookIn claims once more, and only after start', async t => {
  const work = new Work()
  work.again_ms = 10
  await work.offer(['a'])
  await sleep(40)
  t.strictSame(work.calls, ['claim a', 'claimed'])

  work.start()
  await work.offer(['b'])
  work.again_ms = 0
  await sleep(60)
  t.strictSame(work.calls.slice(2), ['claim b', 'claimed', 'claim all', 'claimed'])
  await work.stop()
})
