import { ROUNDS, report } from '#test/bench/support/stage.ts'
import { FILE_BYTES, measureUploads, type UploadFigures } from '#test/bench/support/upload_client.ts'

const MEBIBYTE = 1024 * 1024

/** The memory and the blocking of the event loop for bodies with a file of 25 MiB, compared with parsing them whole. */
export async function benchUpload(): Promise<void> {
  const alone = await measure('stream', 1)
  const whole = await measure('whole', 1)
  const together = await measure('stream', 20)
  const mebibytes = (figures: UploadFigures) => `${(figures.grown / MEBIBYTE).toFixed(0)} MiB`
  report('memory for one', `${mebibytes(alone)} (whole: ${mebibytes(whole)})`, '< a file', alone.grown < FILE_BYTES)
  const is_bounded = together.grown < 20 * 5 * MEBIBYTE
  report('memory for 20 at once', mebibytes(together), '< 5 MiB each', is_bounded)
  const block = Math.max(alone.longest_block_ms, together.longest_block_ms)
  report('longest block', `${block.toFixed(0)} ms`, '< 200 ms', block < 200)
}

/** The minimum of each of several rounds, since other load can only increase it. */
async function measure(how: 'stream' | 'whole', count: number): Promise<UploadFigures> {
  const rounds: UploadFigures[] = []
  for (let round = 1; round <= ROUNDS; round++) {
    const figures = await measureUploads(how, count)
    rounds.push(figures)
    const { grown, longest_block_ms, cpu_ms, megabytes, seconds } = figures
    const rates = `${(megabytes / seconds).toFixed(0)} MB/s, ${((megabytes / cpu_ms) * 1_000).toFixed(0)} MB in a second of CPU`
    const costs = `${(grown / MEBIBYTE).toFixed(0)} MiB, ${longest_block_ms.toFixed(0)} ms`
    console.log(`  round ${round}  ${how.padEnd(6)} ${String(count).padStart(2)}  ${costs}, ${rates}`)
  }
  const least = (name: 'grown' | 'longest_block_ms') => Math.min(...rounds.map(figures => figures[name]))
  return { ...(rounds[0] as UploadFigures), grown: least('grown'), longest_block_ms: least('longest_block_ms') }
}
