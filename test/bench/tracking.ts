import { now } from '#lib/clock.ts'
import { newId } from '#lib/ids.ts'
import { recordHits, type TrackingHit } from '#sql/tracking/hits.ts'
import { interleave, openStage, report } from '#test/bench/support/stage.ts'
import { fillTrackedCampaign, type Tracked } from '#test/bench/support/tracked_campaign.ts'

const RECIPIENTS = 20_000
const COUNT = 10_000
const SINGLE = 3_000
const SET = 500
const CONNECTIONS = 10

/** Hits recorded per second, in sets on one connection, compared with a transaction for each on ten. */
export async function benchTracking(): Promise<void> {
  const stage = await openStage()
  try {
    const tracked = await fillTrackedCampaign(stage.pool, RECIPIENTS)
    const rate = async (count: number, run: (hits: TrackingHit[]) => Promise<void>) => {
      const hits = Array.from({ length: count }, () =>
        makeHit(tracked[Math.floor(Math.random() * RECIPIENTS)] as Tracked),
      )
      const began = performance.now()
      await run(hits)
      return (count * 1_000) / (performance.now() - began)
    }
    const inSets = async (hits: TrackingHit[]) => {
      while (hits.length > 0) await recordHits(stage.pool, hits.splice(0, SET))
    }
    const oneByOne = async (hits: TrackingHit[]) => {
      await Promise.all(
        Array.from({ length: CONNECTIONS }, async () => {
          for (let hit = hits.pop(); hit; hit = hits.pop()) await recordHits(stage.pool, [hit])
        }),
      )
    }
    await rate(SET, inSets)
    const figures = await interleave({
      [`sets of ${SET}, 1 connection`]: () => rate(COUNT, inSets),
      [`one each, ${CONNECTIONS} connections`]: () => rate(SINGLE, oneByOne),
    })
    const [sets, single] = Object.values(figures) as [number, number]
    report('hits recorded', `${(sets / single).toFixed(1)} times one each`, '>= 5', sets / single >= 5)
  } finally {
    await stage.close()
  }
}

/** At least two opens per click, as in published reports. */
function makeHit({ account_id, delivery_id, source_id }: Tracked): TrackingHit {
  const link = Math.floor(Math.random() * 10)
  const isClick = Math.random() < 1 / 3
  return {
    ...{ account_id, delivery_id, id: newId(), class: 'human', rule: 'default', created_at: now() },
    ...(isClick ? { type: 'click', source_id, link, url: `https://acme.com/${link}` } : { type: 'open' }),
    ...{ ip: '192.0.2.7', user_agent: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/142.0.0.0 Safari/537.36' },
  }
}
