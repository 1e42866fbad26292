import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '#test/support/root.ts'
import { makeScratch } from '#test/support/scratch.ts'

const MIGRATIONS = 'sql/migrations'

/** There is no earlier release to compare with; the message has the reason. */
export class NoEarlierRelease extends Error {}

/**
 * The last commit without the newest migration: the parent of the commit that added it, or HEAD if it is not committed
 * yet. @throws {NoEarlierRelease}
 */
export function findEarlierRelease(): string {
  const committed = new Set(git('ls-tree', '-r', '--name-only', 'HEAD', MIGRATIONS).split('\n'))
  const isCommitted = (name: string) => committed.has(`${MIGRATIONS}/${name}`)
  if (!readdirSync(join(ROOT, MIGRATIONS)).every(isCommitted)) return git('rev-parse', 'HEAD')
  const added = git('log', '-1', '--diff-filter=A', '--no-renames', '--format=%H %P', '--', MIGRATIONS)
  const [commit, parent] = added.split(' ')
  // A shallow clone shows every file as added by its first commit, which has no parent.
  if (!parent) throw new NoEarlierRelease(`the history begins with ${commit}, which has the newest migration`)
  return parent
}

/** Unpacks a commit into a separate folder, which is removed at exit. @throws {NoEarlierRelease} */
export async function unpackRelease(commit: string): Promise<string> {
  const scratch = await makeScratch('mailbrook-earlier-')
  process.once('exit', () => rmSync(scratch, { recursive: true, force: true }))
  const archive = join(scratch, 'code.tar')
  const directory = join(scratch, 'code')
  mkdirSync(directory)
  git('archive', `--output=${archive}`, commit)
  execFileSync('tar', ['-xf', archive, '-C', directory])
  rmSync(archive)
  checkPackages(directory)
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
  return directory
}

/** The folder uses the packages of this checkout. */
function checkPackages(directory: string): void {
  const { dependencies } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
  const missing = Object.keys(dependencies).filter(name => !existsSync(join(ROOT, 'node_modules', name)))
  if (missing.length > 0) throw new NoEarlierRelease(`it needs packages that are not installed: ${missing.join(', ')}`)
}

function git(...args: string[]): string {
  try {
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string }
    throw new NoEarlierRelease(stderr?.trim() || message, { cause: error })
  }
}
