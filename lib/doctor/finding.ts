/** problem: mail is lost, refused or not sent because of it; warning: it may be; unknown: it could not be checked now. */
type Level = 'ok' | 'warning' | 'problem' | 'unknown'

/** `fix`: the complete command to run, variable to set or DNS record to publish; one per line. */
export type Finding = { check: string; level: Level; finding: string; fix?: string }

export type Check = { check: string; run(): Promise<Finding[]> }

const WIDTH = 'problem'.length + 2

type Report = (finding: string, fix?: string) => Finding

/** Makes the findings of one check. */
export type About = Record<Level, Report>

export function about(check: string): About {
  const report =
    (level: Level): Report =>
    (finding, fix) => ({ check, level, finding, ...(fix ? { fix } : {}) })
  return { ok: report('ok'), warning: report('warning'), problem: report('problem'), unknown: report('unknown') }
}

/** Runs all checks concurrently, each within the deadline. Findings are in the order of the checks. */
export async function runChecks(checks: Check[], deadline_ms: number): Promise<Finding[]> {
  const found = await Promise.all(checks.map(check => runCheck(check, deadline_ms)))
  return found.flat()
}

async function runCheck({ check, run }: Check, deadline_ms: number): Promise<Finding[]> {
  const late = Promise.withResolvers<Finding[]>()
  const report = about(check)
  const timer = setTimeout(
    () => late.resolve([report.unknown(`No result within ${deadline_ms / 1000} s.`)]),
    deadline_ms,
  )
  try {
    return await Promise.race([run(), late.promise])
  } catch (error) {
    return [report.unknown(`It could not be checked: ${(error as Error).message}`)]
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the exit code of the process: 1 if there is a problem. */
export function exitCode(findings: Finding[]): 0 | 1 {
  return findings.some(({ level }) => level === 'problem') ? 1 : 0
}

/** Returns a line per finding, with its fix below it. */
export function formatFindings(findings: Finding[]): string {
  return findings
    .flatMap(({ check, level, finding, fix }) => [`${level.padEnd(WIDTH)}${check}: ${finding}`, ...fixLines(fix)])
    .join('\n')
}

function fixLines(fix: string | undefined): string[] {
  return fix ? fix.split('\n').map(line => `${' '.repeat(WIDTH + 2)}${line}`) : []
}
