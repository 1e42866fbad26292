import type { ARCData, DKIMResult, DKIMVerifyResult, DMARCResult, SPFResult } from 'mailauth'
import { createDns, type DnsTimes } from '#lib/net/dns.ts'
import { registrableDomain } from '#lib/net/domain_name.ts'
import { limitHeader } from './limit_header.ts'
import { createLookUp } from './look_up.ts'
import type { Envelope, Verdict } from './verdict.ts'

/** Whether a message comes from whom it says. `spf` and `arc` are words of RFC 8601 section 2.7. */
export type Origin = { spf: SpfWord; arc: string; verdicts: { spf: Verdict; dkim: Verdict; dmarc: Verdict } }

type SpfWord = 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'temperror' | 'permerror'

/** A message as it came, with CRLF line ends; `dns_servers` as in createDns. */
export type MessageToCheck = Envelope & { raw: Uint8Array; dns_servers: readonly string[] | undefined }

/** One answer. A name server that is silent for it is silent. */
const TIMES: DnsTimes = { try_ms: 1_500, tries: 2, deadline_ms: 4_000 }

/**
 * Each check has a budget of its own: a sender who signs with names that nobody answers for, or lists them in an SPF record,
 * takes nothing from the other checks. One after the other, these are 10 seconds at most. SPF: RFC 7208 section 4.6.4
 * lets 10 terms ask, each MX or PTR for 10 addresses more.
 */
const SPF_LIMITS = { deadline_ms: 6_000, lookups: 120 }
const DKIM_LIMITS = { deadline_ms: 6_000, lookups: 70 }
const DMARC_LIMITS = { deadline_ms: 4_000, lookups: 60 }

/** The RFCs to the letter: RFC 7208, 6376, 8301 (no rsa-sha1, no key below 1,024 bits), 8463, 8617, 9989. */
const STRICT = { strict: true, minBitLength: 1024 }

/**
 * Checks SPF (of MAIL FROM, or of HELO for the null sender), DKIM, ARC and DMARC, the last from what the first two say.
 * A chain of ARC is only reported: it lets nothing pass, since that would take a list of sealers that are trusted.
 */
export async function checkOrigin(message: MessageToCheck): Promise<Origin> {
  // Not at every start of a process: it takes a quarter of that.
  const { arc, dkimVerify, dmarc, spf } = await import('mailauth')
  const { address, helo, mail_from, dns_servers } = message
  const dns = createDns(dns_servers, TIMES)
  const raw = limitHeader(Buffer.from(message.raw.buffer, message.raw.byteOffset, message.raw.length))
  const keys = { ...STRICT, resolver: createLookUp(dns, DKIM_LIMITS) }
  const [sender, signed] = await Promise.all([
    spf({ ...STRICT, ip: address, helo, sender: mail_from, mta: 'localhost', resolver: createLookUp(dns, SPF_LIMITS) }),
    raw && dkimVerify(raw, { ...keys, sender: mail_from }),
  ])
  const word = sender.status.result as SpfWord
  if (!signed) {
    return {
      spf: word,
      arc: 'none',
      verdicts: { spf: SPF[word], dkim: 'PROCESSING_FAILED', dmarc: 'PROCESSING_FAILED' },
    }
  }
  const chain = await arc(signed.arc as ARCData, { ...keys, ip: address })
  const policy = await dmarc({
    ...STRICT,
    headerFrom: signed.headerFrom,
    fromFields: signed.fromFields,
    spfDomains: sender.status.result === 'pass' ? [sender.domain] : [],
    dkimDomains: signed.results.filter(holds).map(({ signingDomain = '' }) => ({ domain: signingDomain })),
    arcResult: chain,
    resolver: createLookUp(dns, DMARC_LIMITS),
  })
  return {
    spf: word,
    arc: chain.status?.result ?? 'none',
    verdicts: { spf: SPF[word], dkim: dkimVerdict(signed), dmarc: dmarcVerdict(policy, sender, signed) },
  }
}

/**
 * softfail, in the words of its publisher: probably not, but refuse nothing for it. permerror: the check came to its end, and
 * what is published lets nobody pass.
 */
const SPF: Record<SpfWord, Verdict> = {
  pass: 'PASS',
  fail: 'FAIL',
  softfail: 'GRAY',
  neutral: 'GRAY',
  none: 'GRAY',
  temperror: 'PROCESSING_FAILED',
  permerror: 'FAIL',
}

/** One signature that holds is enough (RFC 6376 section 6.1). Without any there is nothing to say. */
function dkimVerdict({ results }: DKIMVerifyResult): Verdict {
  if (results.some(holds)) return 'PASS'
  const words = results.map(({ status }) => status.result)
  if (words.includes('pass') || words.every(word => word === 'none')) return 'GRAY'
  return words.includes('temperror') ? 'PROCESSING_FAILED' : 'FAIL'
}

/** Not when the body goes on where its `l=` ends: anybody may have added that and sent it on (RFC 6376 section 8.2). */
function holds({ status }: DKIMResult): boolean {
  return status.result === 'pass' && !status.underSized
}

/** Whatever the policy asks for: a failure is one under `p=none` too. */
function dmarcVerdict(policy: DMARCResult | false, sender: SPFResult, signed: DKIMVerifyResult): Verdict {
  // Several authors, of whom a reader sees one: RFC 9989 section 11.5 calls that suspicious.
  if (!policy) return signed.headerFrom.length > 0 ? 'FAIL' : 'GRAY'
  switch (policy.status.result) {
    case 'pass':
      return 'PASS'
    case 'none':
      return 'GRAY'
    case 'fail':
      return mightHavePassed(sender, signed) ? 'PROCESSING_FAILED' : 'FAIL'
  }
  return 'PROCESSING_FAILED'
}

/** Whether the author's own domain could not be asked. Another's, which anybody may name in a signature, changes nothing. */
function mightHavePassed(sender: SPFResult, signed: DKIMVerifyResult): boolean {
  const author = organization(signed.headerFrom[0]?.split('@').pop())
  const unknown = signed.results.flatMap(({ signingDomain, status }) =>
    status.result === 'temperror' ? [signingDomain] : [],
  )
  if (sender.status.result === 'temperror') unknown.push(sender.domain)
  return author !== null && unknown.some(domain => organization(domain) === author)
}

function organization(domain = ''): string | null {
  return registrableDomain(domain.toLowerCase())
}
