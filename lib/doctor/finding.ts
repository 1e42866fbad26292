/** problem: mail is lost, refused or not sent because of it; warning: it may be; unknown: nobody could say now. */
type Level = 'ok' | 'warning' | 'problem' | 'unknown'

/** `fix`: the command to run, the variable to set or the DNS record to publish, whole; one a line. */
export type Finding = { check: string; level: Level; finding: string; fix?: string }

export type Check = { check: string; run(): Promise<Finding[]> }

const WIDTH = 'problem'.length + 2

type Tell = (finding: string, fix?: string) => Finding

/** What may be said of one thing. */
export type About = Record<Level, Tell>

export function about(check: string): About {
  const tell =
    (level: Level): Tell =>
    (finding, fix) => ({ check, level, finding, ...(fix ? { fix } : {}) })
  return { ok: tell('ok'), warning: tell('warning'), problem: tell('problem'), unknown: tell('unknown') }
}

/** All at once, each within the deadline; findings in the order of the checks. */
export async function runChecks(checks: Check[], deadline_ms: number): Promise<Finding[]> {
  const found = await Promise.all(checks.map(check => runCheck(check, deadline_ms)))
  return found.flat()
}

async function runCheck({ check, run }: Check, deadline_ms: number): Promise<Finding[]> {
  const late = Promise.withResolvers<Finding[]>()
  const tell = about(check)
  const timer = setTimeout(() => late.resolve([tell.unknown(`No answer in ${deadline_ms / 1000} s.`)]), deadline_ms)
  try {
    return await Promise.race([run(), late.promise])
  } catch (error) {
    return [tell.unknown(`It could not be looked at: ${(error as Error).message}`)]
  } finally {
    clearTimeout(timer)
  }
}

/** Of the process: 1 when there is a problem. */
export function exitCode(findings: Finding[]): 0 | 1 {
  return findings.some(({ level }) => level === 'problem') ? 1 : 0
}

/** A line for each finding, its fix below it. */
export function printed(findings: Finding[]): string {
  return findings
    .flatMap(({ check, level, finding, fix }) => [`${level.padEnd(WIDTH)}${check}: ${finding}`, ...fixLines(fix)])
    .join('\n')
}

function fixLines(fix: string | undefined): string[] {
  return fix ? fix.split('\n').map(line => `${' '.repeat(WIDTH + 2)}${line}`) : []
}
