import { accessSync, constants, statfsSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const NEEDED = 4 * 1024 ** 3 // bytes; all that the suite has there at once is below 1 GB

/**
 * A new directory for what may be lost with the machine, in memory where that can be had. A database is hundreds of files:
 * a disk's file system takes several times as long to create and delete them as all the tests do with what is in them.
 */
export function makeScratch(prefix: string): Promise<string> {
  return mkdtemp(join(hasMemory() ? MEMORY : tmpdir(), prefix))
}

function hasMemory(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    return Math.min(bavail * bsize, freemem()) > NEEDED
  } catch {
    return false // not every system has it
  }
}
