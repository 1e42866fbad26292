import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fs } from '../builtins.ts'
import { cliError } from '../errors.ts'

export type Profile = { api_key: string; base_url: string }
type Stored = { current: string | null; profiles: Record<string, Profile> }
type Environment = Record<string, string | undefined>

/** Profiles, each a server with an API key, in a file that only its owner can read. */
export class Profiles {
  readonly path: string

  constructor(environment: Environment) {
    const home = environment.XDG_CONFIG_HOME || join(homedir(), '.config')
    this.path = join(home, 'mailbrook', 'config.json')
  }

  /** Returns the profile with a name, or the current one, or null. @throws {MailbrookError} if the name is unknown */
  find(name?: string): Profile | null {
    const { current, profiles } = this.#read()
    const wanted = name ?? current
    // A name such as `constructor` is not that of a member of every object.
    const found = wanted !== null && Object.hasOwn(profiles, wanted) ? profiles[wanted] : undefined
    if (name !== undefined && !found)
      throw cliError(`There is no profile ${JSON.stringify(name)}: see \`mailbrook profiles\`.`)
    return found ?? null
  }

  list(): { name: string; base_url: string; is_current: boolean }[] {
    const { current, profiles } = this.#read()
    return Object.entries(profiles).map(([name, { base_url }]) => ({ name, base_url, is_current: name === current }))
  }

  /** Adds or changes a profile, and makes it the current one. */
  save(name: string, profile: Profile): void {
    const { profiles } = this.#read()
    this.#write({ current: name, profiles: { ...profiles, [name]: profile } })
  }

  /** Makes a profile the current one. @throws {MailbrookError} if there is none with this name */
  use(name: string): void {
    this.find(name)
    this.#write({ ...this.#read(), current: name })
  }

  /** Removes the profile with a name, or the current one. Returns its name, or null if there is none. */
  remove(name?: string): string | null {
    this.find(name)
    const { current, profiles } = this.#read()
    const removed = name ?? current
    if (removed === null) return null
    const { [removed]: _, ...rest } = profiles
    this.#write({ current: current === removed ? (Object.keys(rest)[0] ?? null) : current, profiles: rest })
    return removed
  }

  #read(): Stored {
    let text: string
    try {
      text = fs().readFileSync(this.path, 'utf8')
    } catch (error) {
      if ((error as { code?: string }).code === 'ENOENT') return { current: null, profiles: {} }
      throw cliError(`${this.path} cannot be read: ${(error as Error).message}`, error)
    }
    try {
      const { current = null, profiles = {} } = JSON.parse(text)
      return { current, profiles }
    } catch (error) {
      throw cliError(`${this.path} is not valid JSON: repair or delete it.`, error)
    }
  }

  /** Replaces the file by a rename, so that other commands read either the old or the new file. */
  #write(stored: Stored): void {
    const { chmodSync, mkdirSync, renameSync, writeFileSync } = fs()
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 })
    const next = `${this.path}.${process.pid}`
    writeFileSync(next, `${JSON.stringify(stored, null, 2)}\n`, { mode: 0o600 })
    chmodSync(next, 0o600)
    renameSync(next, this.path)
  }
}
