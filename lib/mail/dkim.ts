import { createPrivateKey, generateKeyPair, hash, type KeyObject, sign } from 'node:crypto'
import { relaxedBody, relaxedField } from '#lib/mail/mime/canonical.ts'
import { atomsField, type HeaderField } from '#lib/mail/mime/field.ts'
import type { ComposedMessage } from './message.ts'

export type DkimAlgorithm = 'rsa-sha256' | 'ed25519-sha256'

/** `domain` and `selector` are ASCII. The public key is published at `<selector>._domainkey.<domain>`. */
export type DkimKey = { domain: string; selector: string; algorithm: DkimAlgorithm; private_key: KeyObject }

/** `private_key` is PKCS #8 DER, to be stored. `public_key` is base64 for the record's `p=` tag. */
export type GeneratedDkimKey = { private_key: Buffer; public_key: string }

/** Length of a signature (RFC 8032 section 5.1.6). */
const ED25519_BYTES = 64

/** The record's `k=` tag, which is also the type of the key in node:crypto. */
const keyTypes = { 'rsa-sha256': 'rsa', 'ed25519-sha256': 'ed25519' } as const

/**
 * Fields that are not signed. Relays remove or rewrite X- fields, which would break the signature, and nothing depends on them.
 */
const UNSIGNED = /^(?:x-.*|return-path|received)$/i

/**
 * Signs with each key (RFC 8463 section 3), relaxed/relaxed (RFC 6376), on the thread pool, which takes less time of this thread
 * even for Ed25519. `time` becomes `t=`, in whole seconds. There is no `x=`, since mail may be retried for days. Both algorithms
 * are deterministic: the same input gives the same bytes.
 *
 * Resolves to a folded field `DKIM-Signature: ...` per key, in the order of the keys, without the CRLF at its end. The fields go
 * above all others, and no signature covers another. Rejects with TypeError if a key does not fit its algorithm.
 */
export function signMessage({ fields, body }: ComposedMessage, keys: DkimKey[], time: Date): Promise<string[]> {
  return signFields(fields, hashBody(body), keys, time)
}

/** Returns the `bh=` of a signature. */
export function hashBody(body: Buffer): string {
  return hash('sha256', relaxedBody(body), 'base64')
}

/** `signMessage` for a body whose `hashBody` is known. */
export function signFields(fields: HeaderField[], body_hash: string, keys: DkimKey[], time: Date): Promise<string[]> {
  const signed = signedFields(fields)
  const head = signed.map(field => `${relaxedField(field.raw)}\r\n`).join('')
  return Promise.all(
    keys.map(async key => {
      const tags = signatureTags(signed, body_hash, key, time)
      const data = head + relaxedField(signatureField([...tags, 'b=']))
      return completeSignatureField(tags, await signData(Buffer.from(data, 'latin1'), key))
    }),
  )
}

/** Returns the lengths of the fields that `signFields` makes, which depend on the keys and the fields only. */
export function signatureLengths(fields: HeaderField[], keys: DkimKey[], time: Date): number[] {
  const signed = signedFields(fields)
  const body_hash = hashBody(Buffer.alloc(0))
  return keys.map(key => {
    const { modulusLength } = key.private_key.asymmetricKeyDetails ?? {}
    const bytes = modulusLength ? Math.ceil(modulusLength / 8) : ED25519_BYTES
    return completeSignatureField(signatureTags(signed, body_hash, key, time), Buffer.alloc(bytes)).length
  })
}

/**
 * Generates an Ed25519 key, or an RSA key with the 2,048 bits of RFC 8301 section 3.2: more do not fit the TXT records of every
 * provider.
 */
export async function generateDkimKey(algorithm: DkimAlgorithm): Promise<GeneratedDkimKey> {
  const { private_key, public_key } = await generateKeys(algorithm)
  const spki = public_key.export({ type: 'spki', format: 'der' })
  return {
    private_key: private_key.export({ type: 'pkcs8', format: 'der' }),
    // RFC 8463 section 4 publishes the bare Ed25519 key, which is at the end of its SPKI form.
    public_key: (algorithm === 'rsa-sha256' ? spki : spki.subarray(-32)).toString('base64'),
  }
}

/** Loads a key. Cache the result: for Ed25519 loading costs more than a signature. Throws if it is not PKCS #8 DER. */
export function loadDkimKey(pkcs8: Buffer): KeyObject {
  return createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
}

/** Returns the TXT record of RFC 6376 section 3.6.1 as one string; DNS splits it into strings of 255 bytes. */
export function dkimRecordValue(algorithm: DkimAlgorithm, public_key: string): string {
  return `v=DKIM1; k=${keyTypes[algorithm]}; p=${public_key}`
}

/** Returns the fields to sign, from the last to the first, as RFC 6376 section 5.4.2 requires of fields with the same name. */
function signedFields(fields: HeaderField[]): HeaderField[] {
  return fields.filter(field => !UNSIGNED.test(field.name)).reverse()
}

function signatureTags(signed: HeaderField[], body_hash: string, key: DkimKey, time: Date): string[] {
  return [
    ...['v=1;', `a=${key.algorithm};`, 'c=relaxed/relaxed;', `d=${key.domain};`, `s=${key.selector};`],
    `t=${Math.floor(time.getTime() / 1000)};`,
    // `From` is listed once more than it occurs, so that nobody can add another one: section 8.15.
    ...`h=${[...signed.map(field => field.name), 'From'].join(': ')};`.split(' '),
    `bh=${body_hash};`,
  ]
}

function completeSignatureField(tags: string[], signature: Buffer): string {
  return signatureField([...tags, ...(`b=${signature.toString('base64')}`.match(/.{1,64}/g) ?? [])])
}

function signatureField(tags: string[]): string {
  return atomsField('DKIM-Signature', tags).raw
}

function signData(data: Buffer, { algorithm, private_key }: DkimKey): Promise<Buffer> {
  if (private_key.asymmetricKeyType !== keyTypes[algorithm]) {
    return Promise.reject(new TypeError(`The DKIM key is not for ${algorithm}`))
  }
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, signature: Buffer) => (error ? reject(error) : resolve(signature))
    // Only the form with a callback runs outside of the main thread.
    if (algorithm === 'rsa-sha256') sign('sha256', data, private_key, done)
    else sign(null, hash('sha256', data, 'buffer'), private_key, done) // RFC 8463 section 3 signs the hash
  })
}

function generateKeys(algorithm: DkimAlgorithm): Promise<{ private_key: KeyObject; public_key: KeyObject }> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, public_key: KeyObject, private_key: KeyObject) =>
      error ? reject(error) : resolve({ private_key, public_key })
    if (algorithm === 'rsa-sha256') generateKeyPair('rsa', { modulusLength: 2048 }, done)
    else generateKeyPair('ed25519', {}, done)
  })
}
