import { execFile } from 'node:child_process'
import { statfs } from 'node:fs/promises'
import { promisify } from 'node:util'
import { about, type Finding } from './finding.ts'

const MIN_NODE = 24

/** Below either of them the doctor warns: a full disk stops Postgres. */
const MIN_SHARE = 0.05
const MIN_BYTES = 1 << 30

export function checkNode(version = process.versions.node): Finding {
  const report = about('Node')
  if (Number.parseInt(version, 10) >= MIN_NODE) return report.ok(`${version}.`)
  return report.problem(`${version} is older than ${MIN_NODE}.`, 'npm ci   (brings Node 24), or install Node 24')
}

/** Checks the free space of the disk that has `directory`. */
export async function checkDisk(what: string, directory: string): Promise<Finding> {
  const report = about(`disk of ${what}`)
  const { bavail, blocks, bsize } = await statfs(directory).catch(() => ({ bavail: 0, blocks: 0, bsize: 0 }))
  if (blocks === 0) return report.unknown(`The free space of ${directory} cannot be read.`)
  return judgeDisk(what, directory, bavail * bsize, blocks * bsize)
}

export function judgeDisk(what: string, directory: string, free: number, size: number): Finding {
  const report = about(`disk of ${what}`)
  const finding = `${gigabytes(free)} free of ${gigabytes(size)} (${Math.round((free / size) * 100)} %).`
  if (free >= MIN_BYTES && free >= size * MIN_SHARE) return report.ok(finding)
  return report.warning(
    finding,
    `Free some space, or enlarge the disk: du -xh --max-depth=2 ${directory} | sort -h | tail`,
  )
}

function gigabytes(bytes: number): string {
  return `${(bytes / (1 << 30)).toFixed(1)} GB`
}

/** Checks whether this machine synchronizes its clock. */
export async function checkTimeService(): Promise<Finding> {
  const report = about('clock of this host')
  const answer = await promisify(execFile)('timedatectl', ['show', '--property=NTPSynchronized', '--value'], {
    timeout: 5_000,
  }).catch(() => null)
  switch (answer?.stdout.trim()) {
    case 'yes':
      return report.ok('It is set by NTP.')
    case 'no':
      return report.warning('It is not set by NTP.', 'timedatectl set-ntp true')
    default:
      return report.unknown('It is not known whether NTP sets it (there is no timedatectl).')
  }
}
