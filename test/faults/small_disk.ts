import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEGABYTE = 1 << 20
const PIECE = Buffer.alloc(64 * 1024)

/** A file system of so many megabytes, of memory, that can be filled to its last byte. It needs root. */
export class SmallDisk {
  readonly directory: string
  readonly #ballast: string

  /** @throws when we may not mount */
  constructor(megabytes: number) {
    this.directory = mkdtempSync(join(tmpdir(), 'mailbrook-disk-'))
    this.#ballast = join(this.directory, 'ballast')
    try {
      const options = ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'mailbrook-test', this.directory]
      execFileSync('mount', options, { stdio: 'pipe' })
    } catch (error) {
      rmdirSync(this.directory)
      throw error
    }
    process.once('exit', this.close)
    chmodSync(this.directory, 0o755)
  }

  get free_mb(): number {
    const { bavail, bsize } = statfsSync(this.directory)
    return Math.round((bavail * bsize) / MEGABYTE)
  }

  /** Nobody can write another byte. */
  fill(): void {
    try {
      for (;;) writeFileSync(this.#ballast, PIECE, { flag: 'a' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }

  free(): void {
    rmSync(this.#ballast, { force: true })
  }

  readonly close = (): void => {
    process.removeListener('exit', this.close)
    execFileSync('umount', ['--lazy', this.directory]) // what still has a file open there is about to end
    rmdirSync(this.directory)
  }
}
