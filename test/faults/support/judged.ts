import type { Verdict } from '#lib/receiving/verdicts/verdict.ts'

/** Prints each verdict and whether it is right; null: any verdict is right, but not an error. */
export async function report(cases: Record<string, [Promise<Verdict>, Verdict | 'an error' | null]>): Promise<void> {
  for (const [judged] of Object.values(cases)) judged.catch(() => {})
  for (const [name, [judged, right]] of Object.entries(cases)) {
    const said = await judged.catch(error => error as Error)
    const word = said instanceof Error ? 'an error' : said
    const isRight = right === null ? word !== 'an error' : word === right
    if (!isRight) process.exitCode = 1
    const detail = said instanceof Error ? `: ${said.message}` : ''
    console.log(`${isRight ? 'ok   ' : 'WRONG'} ${name}: ${word}${detail}${isRight ? '' : `, not ${right}`}`)
  }
  console.log(process.exitCode ? 'failed' : 'passed')
}
