import { sql } from '#sql/pool.ts'
import { generateLoad } from '#test/bench/support/generate_load.ts'
import { interleave, openStage, report } from '#test/bench/support/stage.ts'

const COUNT = 8_000

/** Accepted requests per second, stored before the response, compared with one transaction per request on the same server. */
export async function benchAccept(): Promise<void> {
  const stage = await openStage()
  try {
    await stage.spawn('workers/web.ts', { PORT: '4601' })
    await stage.spawn('test/bench/support/naive_server.ts', { PORT: '4602' })
    const measure = (port: number, count: number) => async () => {
      const { seconds } = await generateLoad(`http://127.0.0.1:${port}/api/emails`, stage.key, count)
      await stage.pool.run(sql.unsafe`TRUNCATE emails CASCADE`)
      await stage.pool.run(sql.unsafe`TRUNCATE graphile_worker._private_jobs`)
      return count / seconds
    }
    await measure(4601, 2_000)()
    await measure(4602, 500)()
    const figures = await interleave({
      'POST /emails': measure(4601, COUNT),
      'naive: one transaction per request': measure(4602, COUNT / 4),
    })
    const ratio = figures['POST /emails'] / figures['naive: one transaction per request']
    report('accepted requests', `${ratio.toFixed(1)} x the naive path`, '>= 4 x', ratio >= 4)
  } finally {
    await stage.close()
  }
}
