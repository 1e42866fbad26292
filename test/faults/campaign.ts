import { parseArgs } from 'node:util'
import { findViolations } from '#test/faults/support/oracle.ts'
import { Postgres } from '#test/faults/support/postgres.ts'
import type { Entry } from '#test/faults/support/sink_ledger.ts'
import { openStage, type Stage } from '#test/faults/support/stage.ts'

/** The result of a fault test: figures to read, and a sentence for each thing that went wrong. */
export class Report {
  readonly figures: Record<string, unknown> = {}
  readonly faults: string[] = []

  note(figures: Record<string, unknown>): void {
    Object.assign(this.figures, figures)
  }

  expect(holds: boolean, sentence: string): void {
    if (!holds) this.faults.push(sentence)
  }

  /** Checks the invariants of the oracle on the database and on what the sink got. */
  async consult(stage: Pick<Stage, 'url'>, evidence: { sent?: Entry[]; answered?: string[] } = {}): Promise<void> {
    for (const { invariant, count, first } of await findViolations(stage.url, evidence)) {
      this.faults.push(`${invariant}: violated by ${count}, such as ${JSON.stringify(first)}`)
    }
  }
}

/** Reads numbers from the command line: `--emails 20000`. */
export function readOptions<Name extends string>(defaults: Record<Name, number>): Record<Name, number> {
  const names = Object.keys(defaults) as Name[]
  const options = Object.fromEntries(names.map(name => [name, { type: 'string' as const }]))
  const { values } = parseArgs({ options })
  return Object.fromEntries(names.map(name => [name, Number(values[name] ?? defaults[name])])) as Record<Name, number>
}

/** Runs a fault test on its own Postgres (under `parent`, if given); prints figures and PASS, or the faults and FAIL, and exits with 1. */
export async function runCampaign(
  title: string,
  act: (stage: Stage, postgres: Postgres) => Promise<Report>,
  settings: Record<string, string> = {},
  parent?: string,
): Promise<void> {
  // The exit handlers end all processes that were started.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1))
  console.log(title)
  const start = performance.now()
  const postgres = await Postgres.create(settings, parent)
  try {
    const stage = await openStage(postgres.url)
    const report = await act(stage, postgres).finally(() => stage.close())
    report.note({ seconds: Math.round((performance.now() - start) / 1_000) })
    tell(report)
  } catch (error) {
    console.error(error)
    fail()
  } finally {
    await postgres.close()
  }
}

/** Prints a report with PASS, or the faults with FAIL, and exits with 1. */
export function tell({ figures, faults }: Report): void {
  for (const [name, figure] of Object.entries(figures)) console.log(`  ${name.padEnd(34)} ${format(figure)}`)
  for (const fault of faults) console.log(`  wrong: ${fault}`)
  if (faults.length > 0) fail()
  else console.log('PASS')
}

function fail(): void {
  console.log('FAIL')
  process.exitCode = 1
}

function format(figure: unknown): string {
  return typeof figure === 'object' ? JSON.stringify(figure) : String(figure)
}
