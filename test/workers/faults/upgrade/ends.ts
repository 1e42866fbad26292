import type { Test } from 'tap'
import type { Entry } from '#test/faults/support/sink_ledger.ts'
import { at } from './mail.ts'

/** The final states of deliveries, with the attempts they take. */
export const ENDS = {
  ...{ 'ok-plain': 'delivered 1', 'ok-templated': 'delivered 1', 'ok-file': 'delivered 1', complained: 'delivered 1' },
  ...{ suppressed: 'suppressed 1', 'perm-550': 'bounced 1', 'ok-canceled': 'canceled 0', 'ok-tomorrow': 'queued 0' },
  ...{ 'ok-deferred': 'delivered 1', 'grey-1': 'delivered 2', 'stall-1': 'delivered 2', 'slow250-2000': 'delivered 2' },
  ...{ 'drop-post-dot-held': 'held 2', 'drop-post-dot-doubted': 'held 2' },
  ...{ 'ok-waiting': 'delivered 1', 'ok-waiting-templated': 'delivered 1', 'ok-file-waiting': 'delivered 1' },
  ...{ 'ok-paused': 'delivered 1', 'ok-soon': 'delivered 1' },
}

/** Recipients whose emails were in doubt, and may arrive twice. */
const TWICE = ['drop-post-dot-doubted', 'drop-post-dot-held', 'slow250-2000']

/** Checks the messages that arrived: how often, when and with which bytes. */
export function checkCopies(t: Test, ledger: Entry[], times: { migrated_at: number; soon: number }): void {
  const copies = Map.groupBy(ledger, ({ rcpt }) => rcpt)
  const twice = [...copies].filter(([, { length }]) => length > 1).map(([rcpt]) => rcpt)
  t.strictSame(twice.sort(), TWICE.map(at), 'nothing else arrives twice')
  t.equal(ledger.length, copies.size + TWICE.length, 'nothing arrives three times')
  const first = (local_part: string) => copies.get(at(local_part))?.[0] as Entry
  const [early, late] = [first('ok-deferred'), first('grey-1')]
  t.ok(early.time < times.migrated_at && times.migrated_at < late.time, 'one recipient gets it before, one after')
  t.equal(late.message_sha256, early.message_sha256, 'a deferred message has the bytes that it had before')
  t.ok(first('ok-soon').time >= times.soon, 'a scheduled email is sent at its time')
}
