import { accessSync, constants, statfsSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const NEEDED = 4 * 1024 ** 3 // bytes; the suite uses less than 1 GB at once

/**
 * Creates a directory for data that may be lost with the machine, in memory if possible. A database consists of hundreds of files:
 * creating and deleting them on a disk takes several times as long as all that the tests do with them.
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
