import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEGABYTE = 1 << 20
const PIECE = Buffer.alloc(64 * 1024)

/** A file system in memory with this many megabytes, which can be filled to its last byte. It requires root. */
export class SmallDisk {
  readonly directory: string
  readonly #ballast: string

  /** @throws if mounting is not allowed */
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

  /** Fills the disk to the last byte. */
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
    execFileSync('umount', ['--lazy', this.directory]) // a process that still has a file open is about to end
    rmdirSync(this.directory)
  }
}
