import { readFileSync } from 'node:fs'
import { type AsnResponse, Reader } from 'maxmind'
import { StartupError } from '#lib/errors.ts'

/**
 * Returns the rule for a hit from a network of mail filters, or null. People may browse from such networks too, so the hit is
 * probably, but not certainly, a filter's.
 */
export type FindScanner = (ip: string) => string | null

/** Autonomous systems of mail filters. */
const RULES: Record<string, number[]> = {
  proofpoint_network: [22_843, 26_211, 52_129],
  mimecast_network: [30_031, 39_588, 42_427, 60_492],
  cisco_network: [16_417],
}
const RULE_OF = new Map(Object.entries(RULES).flatMap(([rule, systems]) => systems.map(number => [number, rule])))

/**
 * Opens a file in MaxMind's format with the networks of autonomous systems, such as GeoLite2-ASN.mmdb. Without a file the
 * function returns null for every address.
 *
 * @throws {StartupError}
 */
export function openScannerNetworks(file: string | undefined): FindScanner {
  if (file === undefined) return () => null
  const reader = openReader(file)
  return ip => RULE_OF.get(reader.get(ip)?.autonomous_system_number ?? 0) ?? null
}

function openReader(file: string): Reader<AsnResponse> {
  try {
    const reader = new Reader<AsnResponse>(readFileSync(file))
    if (!/ASN/.test(reader.metadata.databaseType)) throw new Error(`it is a ${reader.metadata.databaseType}`)
    return reader
  } catch (cause) {
    const { message } = cause as Error
    throw new StartupError(`ASN_DATABASE: ${file} is no readable database of autonomous systems: ${message}`, { cause })
  }
}
