import fc from 'fast-check'
import t from 'tap'
import { RelayPlaces, RelayQueue } from '#lib/delivery/relay_queue.ts'
import { waitUntil } from '#test/support/wait_until.ts'

const never = new AbortController().signal
const CONNECTIONS = 4

type Relay = { name: string; places: RelayPlaces }
type Held = { relay: Relay; destination: string }

const open = (name: string, stall: number): Relay => ({ name, places: new RelayPlaces(CONNECTIONS, stall) })

t.test('RelayQueue uses the first relay until it stalls', async t => {
  const relays = [open('first', 50), open('second', 50)]
  const queue = new RelayQueue<Relay>()
  const names: (string | undefined)[] = []
  const take = async (destination: string) => names.push((await queue.take(relays, destination, never))?.name)
  await Promise.all(['a', 'a', 'b', 'b'].map(take))
  for (let n = 0; n < CONNECTIONS; n++) relays[0]?.places.ended()
  await Promise.all(['a', 'b', 'c'].map(take))
  t.same(names, ['first', 'first', 'first', 'first', 'second', 'second', 'second'])
})

t.test('RelayQueue waits for the first relay until it stalls, though the second is free', async t => {
  const relays = [open('first', 60_000), open('second', 60_000)]
  const queue = new RelayQueue<Relay>()
  for (const destination of ['a', 'a', 'b', 'b']) await queue.take(relays, destination, never)
  const waiting = queue.take(relays, 'c', never)
  const [first] = relays as [Relay]
  queue.free(first, 'a', false, true)
  t.equal(await waiting, first)
})

t.test('a relay stalls sooner once a message has ended, and any reply begins its time again', async t => {
  const STALL = 60_000
  const { places } = open('only', STALL)
  const isSoon = () => places.patience() <= STALL
  /** Lets time pass, and tells whether the action begins the time of the relay again. */
  const begins = async (act: () => void) => {
    const stalls_at = () => performance.now() + places.patience()
    const [since, before] = [performance.now(), stalls_at()]
    await waitUntil(() => performance.now() > since + 200, 'time has passed')
    act()
    return stalls_at() > before + 100
  }
  places.take('a')
  places.take('b')
  t.notOk(await begins(() => places.take('c')), 'another message does not')
  t.notOk(isSoon())
  places.ended()
  t.ok(isSoon())
  t.ok(await begins(() => places.ended()))
  t.notOk(await begins(() => places.free('a', true, false)), 'a message that is set aside does not')
  t.ok(await begins(() => places.free('b', false, true)))
  t.ok(isSoon())
  places.free('c', true, true)
  t.notOk(isSoon(), 'no message has ended any more')
  t.ok(await begins(() => places.take('a')), 'a relay without messages does not stall')
})

t.test('RelayQueue gives a free place to the first in line, and abort ends the wait', async t => {
  const relay = open('only', 60_000)
  const queue = new RelayQueue<Relay>()
  for (const destination of ['a', 'a', 'b', 'b']) await queue.take([relay], destination, never)
  const stopping = new AbortController()
  const waiting = [queue.take([relay], 'c', never), queue.take([relay], 'd', stopping.signal)]
  queue.free(relay, 'a', false, true)
  t.equal(await waiting[0], relay)
  stopping.abort()
  t.equal(await waiting[1], null)
  t.equal(await queue.take([relay], 'e', stopping.signal), null)
})

t.test('RelayQueue never exceeds the connections of a relay or waits beside a free one', async t => {
  const destination = fc.constantFrom('a', 'b', 'c')
  const step = fc.oneof(fc.record({ take: destination }), fc.record({ free: fc.nat(50) }))
  const holds = fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.boolean(), async (steps, isStalled) => {
      // The first relay is stalled from the start, or never.
      const relays = [open('first', isStalled ? -1 : 60_000), open('second', isStalled ? -1 : 60_000)]
      const queue = new RelayQueue<Relay>()
      const stopping = new AbortController()
      const held: Held[] = []
      const waiting: string[] = []
      for (const step of steps) {
        if ('take' in step) {
          waiting.push(step.take)
          void queue.take(relays, step.take, stopping.signal).then(relay => {
            waiting.splice(waiting.indexOf(step.take), 1)
            if (relay) held.push({ relay, destination: step.take })
          })
        } else {
          const [one] = held.splice(step.free % (held.length || 1), 1)
          if (one) queue.free(one.relay, one.destination, false, true)
        }
        await new Promise(setImmediate)
        for (const relay of relays) {
          const here = held.filter(one => one.relay === relay)
          const most = Math.max(0, ...['a', 'b', 'c'].map(name => here.filter(one => one.destination === name).length))
          if (here.length > CONNECTIONS || most > CONNECTIONS / 2) throw new Error(`${relay.name} has too many`)
        }
        const usable = isStalled ? relays : relays.slice(0, 1)
        for (const name of waiting) {
          if (usable.some(({ places }) => places.fits(name))) throw new Error(`${name} waits beside a free place`)
        }
      }
      stopping.abort()
    }),
  )
  await t.resolves(holds)
})
