import type { ARCData, DKIMResult, DKIMVerifyResult, DMARCResult, SPFResult } from 'mailauth'
import { createDns, type DnsTimes } from '#lib/net/dns.ts'
import { registrableDomain } from '#lib/net/domain_name.ts'
import { limitHeader } from './limit_header.ts'
import { createLookUp } from './look_up.ts'
import { shownAuthors } from './shown_authors.ts'
import type { Envelope, Verdict } from './verdict.ts'

/**
 * The origin of a message, and whether it is the one that the message claims. `spf` and `arc` are words of RFC 8601 section 2.7.
 */
export type Origin = { spf: SpfWord; arc: string; verdicts: { spf: Verdict; dkim: Verdict; dmarc: Verdict } }

type SpfWord = 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'temperror' | 'permerror'

/** A message as it arrived, with CRLF line ends. `dns_servers` as in createDns. */
export type MessageToCheck = Envelope & { raw: Uint8Array; dns_servers: readonly string[] | undefined }

/** Per DNS query. */
const TIMES: DnsTimes = { try_ms: 1_500, tries: 2, deadline_ms: 4_000 }

/**
 * Each check has its own budget, so that senders who sign with names whose servers do not respond, or list such names in an SPF
 * record, take nothing from the other checks. The checks that run one after the other take at most 10 seconds. SPF: RFC 7208
 * section 4.6.4 allows 10 terms that cause look-ups, and 10 more for the addresses of each MX or PTR.
 */
const SPF_LIMITS = { deadline_ms: 6_000, lookups: 120 }
const DKIM_LIMITS = { deadline_ms: 6_000, lookups: 70 }
const DMARC_LIMITS = { deadline_ms: 4_000, lookups: 60 }

/** Strictly by the RFCs: RFC 7208, 6376, 8301 (no rsa-sha1, no key below 1,024 bits), 8463, 8617, 9989. */
const STRICT = { strict: true, minBitLength: 1024 }

/**
 * Checks SPF (of MAIL FROM, or of HELO for the null sender), DKIM, ARC and DMARC, which depends on SPF and DKIM. The result of ARC
 * is only reported: it never makes DMARC pass, since that would require a list of trusted sealers.
 */
export async function checkOrigin(message: MessageToCheck): Promise<Origin> {
  // Loaded on first use: it takes a quarter of the start of a process.
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
  const shown = shownAuthors(raw as Buffer)
  const authors = shown.length > 0 ? shown : signed.headerFrom
  const chain = await arc(signed.arc as ARCData, { ...keys, ip: address })
  const policy = await dmarc({
    ...STRICT,
    headerFrom: authors,
    fromFields: signed.fromFields,
    spfDomains: sender.status.result === 'pass' ? [sender.domain] : [],
    dkimDomains: signed.results.filter(coversBody).map(({ signingDomain = '' }) => ({ domain: signingDomain })),
    arcResult: chain,
    resolver: createLookUp(dns, DMARC_LIMITS),
  })
  return {
    spf: word,
    arc: chain.status?.result ?? 'none',
    verdicts: {
      spf: SPF[word],
      dkim: dkimVerdict(signed),
      dmarc: dmarcVerdict(policy, sender, { ...signed, headerFrom: authors }),
    },
  }
}

/**
 * softfail means, by its publisher: probably not authorized, but do not reject. permerror: the check is complete, and the
 * published record lets nobody pass.
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

/** One valid signature is enough (RFC 6376 section 6.1). Without any signature the result is neutral. */
function dkimVerdict({ results }: DKIMVerifyResult): Verdict {
  if (results.some(coversBody)) return 'PASS'
  const words = results.map(({ status }) => status.result)
  if (words.includes('pass') || words.every(word => word === 'none')) return 'GRAY'
  return words.includes('temperror') ? 'PROCESSING_FAILED' : 'FAIL'
}

/**
 * Tells whether a signature is valid for the whole body. If the body continues after its `l=`, anybody may have added that and
 * sent it on (RFC 6376 section 8.2).
 */
function coversBody({ status }: DKIMResult): boolean {
  return status.result === 'pass' && !status.underSized
}

/** Ignores the requested policy: a failure counts under `p=none` too. */
function dmarcVerdict(policy: DMARCResult | false, sender: SPFResult, signed: DKIMVerifyResult): Verdict {
  // Mail with several authors, of whom readers see one, is suspicious by RFC 9989 section 11.5.
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

/**
 * Tells whether DNS did not respond for the author's own domain. Other domains, which anybody may name in a signature, do not
 * matter.
 */
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
