import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '#test/support/root.ts'

const RUNS = 25
/** How much longer than plain Node a command may take to start. */
const LIMIT = 2

/** Measures how long the packed command line takes to start, compared with Node that does nothing. */
export async function benchCommandLine(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'mailbrook-bench-'))
  try {
    const client = join(home, 'client')
    cpSync(join(ROOT, 'client'), client, { recursive: true, filter: path => !path.includes('/dist') })
    symlinkSync(join(ROOT, 'node_modules'), join(home, 'node_modules'))
    const bin = join(ROOT, 'node_modules/.bin/tsc')
    const { prepack } = JSON.parse(readFileSync(join(client, 'package.json'), 'utf8')).scripts
    execFileSync('sh', ['-c', prepack.replaceAll(/\btsc\b(?! )|\btsc(?= )/g, bin)], { cwd: client })
    const main = join(client, 'dist/cli/main.js')
    const commands: Record<string, string[]> = {
      node: ['-e', '0'],
      'mailbrook --version': [main, '--version'],
      'mailbrook emails list --help': [main, 'emails', 'list', '--help'],
      'mailbrook __complete emails re': [main, '__complete', 'emails', 're'],
    }
    report(measure(commands))
  } finally {
    rmSync(home, { recursive: true })
  }
}

/** Milliseconds of each command. Commands run in turn, so that other load affects all alike. */
function measure(commands: Record<string, string[]>): Record<string, number[]> {
  const times = Object.fromEntries(Object.keys(commands).map(name => [name, [] as number[]]))
  for (let run = 0; run < RUNS; run++) {
    for (const [name, args] of Object.entries(commands)) {
      const start = performance.now()
      const { status } = spawnSync(process.execPath, args)
      if (status !== 0) throw new Error(`${name} ended with ${status}`)
      times[name]?.push(performance.now() - start)
    }
  }
  return times
}

function report(times: Record<string, number[]>): void {
  const median = (list: number[]) => list.toSorted((one, other) => one - other)[Math.floor(list.length / 2)] as number
  const bare = median(times.node ?? [])
  for (const [name, list] of Object.entries(times)) {
    const ratio = median(list) / bare
    const verdict =
      name === 'node' ? '' : `, ${ratio.toFixed(2)} times as long as node${ratio < LIMIT ? '' : ': TOO SLOW'}`
    console.log(`${name}: ${median(list).toFixed(0)} ms${verdict}`)
    if (ratio >= LIMIT) process.exitCode = 1
  }
}
