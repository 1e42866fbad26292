import { Resolver } from 'node:dns/promises'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import type { Message } from '#test/support/smtp/inbox.ts'

/**
 * The result of an independent verifier for each signature of a message, in order, with the current records of a name server:
 * `rsa-sha256 mb1 pass`.
 */
export async function verdictsOf(raw: Message['raw'], server: string): Promise<string[]> {
  const dns = new Resolver()
  dns.setServers([server])
  const resolver = (name: string) => dns.resolveTxt(name)
  const { results } = await dkimVerify(raw, { resolver, strict: true })
  return results.map(({ algo, selector, status }) => `${algo} ${selector} ${status.result}`)
}

/** The results when both signatures of this generation of keys pass. */
export function passesOf(generation: number): string[] {
  return [`rsa-sha256 mb${generation} pass`, `ed25519-sha256 mb${generation}e pass`]
}
