import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/**
 * The error name of S3 for a request that is not signed with this key, or null. Signature version 4:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
 */
export function whyNotSigned(request: IncomingMessage, body: Buffer, keys: Record<string, string>): string | null {
  const [, key = '', scope = '', signed = '', signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? '',
    ) ?? []
  if (!signature) return 'AccessDenied'
  const secret = keys[key]
  if (!secret) return 'InvalidAccessKeyId'
  const content = String(request.headers['x-amz-content-sha256'])
  if (content !== 'UNSIGNED-PAYLOAD' && content !== sha256(body)) return 'XAmzContentSHA256Mismatch'

  const names = signed.split(';')
  if (!names.includes('host')) return 'AccessDenied'
  const url = new URL(request.url as string, 'http://x')
  const canonical = [
    request.method,
    url.pathname,
    url.search.slice(1).split('&').filter(Boolean).map(withValue).sort().join('&'),
    ...names.map(name => `${name}:${String(request.headers[name]).trim()}`),
    '',
    signed,
    content,
  ].join('\n')
  const text = ['AWS4-HMAC-SHA256', request.headers['x-amz-date'], scope, sha256(canonical)].join('\n')
  const signing = scope.split('/').reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${secret}`)
  return hmac(signing, text).toString('hex') === signature ? null : 'SignatureDoesNotMatch'
}

const withValue = (parameter: string) => (parameter.includes('=') ? parameter : `${parameter}=`)
const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex')
const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest()
