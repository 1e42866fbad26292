import { about, type Finding } from '#lib/doctor/finding.ts'
import type { Pool } from '#sql/pool.ts'
import { readClock } from '#sql/process/clock.ts'

const report = about('clock')

/**
 * Tolerance of this machine's clock, which certificates and logs use. Only the database's clock decides what is due
 * (flows/process/sync_clock.ts).
 */
const TOLERANCE_MS = 2_000

/** Compares this machine's clock with that of the database. */
export async function checkClock(pool: Pool): Promise<Finding[]> {
  return pool.transaction(async tx => {
    await readClock(tx) // the first query takes longest
    const asked_at = Date.now()
    const time = await readClock(tx)
    const answered_at = Date.now()
    return [judgeClock((asked_at + answered_at) / 2 - time, (answered_at - asked_at) / 2)]
  })
}

/** `offset`: ms by which this machine is ahead. `error`: uncertainty in ms. */
export function judgeClock(offset: number, error: number): Finding {
  const by = Math.abs(offset)
  if (by <= TOLERANCE_MS + error) return report.ok(`This host and the database agree to ${Math.round(by + error)} ms.`)
  const finding = `This host is ${(by / 1000).toFixed(1)} s ${offset > 0 ? 'ahead of' : 'behind'} the database.`
  return report.warning(finding, 'timedatectl set-ntp true   (on the host whose clock is wrong, or on both)')
}
