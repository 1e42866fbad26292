import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { whyNotSigned } from './s3_signature.ts'

export type S3Server = {
  /** The URL of the only bucket, `blobs`, with a valid key. */
  url: string
  /** The objects by key, and the uploads that are neither completed nor aborted. */
  objects: Map<string, Buffer>
  uploads: Map<string, Buffer[]>
  /** The requests, as `PUT key?partNumber` with the names of query parameters. */
  requests: string[]
  /** Responds with this error to matching requests from now on. */
  refuse(request: RegExp, status: number, code: string): void
  /** Leaves matching requests without a response until `speak`. */
  hang(request: RegExp): void
  speak(): void
}

const KEYS = { AKIATEST: 'se/cr+et' }
const LEAST_PART = 5 * 1024 * 1024

type Answer = { status: number; body?: string | Buffer; etag?: string }

/** A server with the part of the S3 protocol that a blob store needs, which checks the signature of every request. */
export async function startS3Server(t: Test): Promise<S3Server> {
  const requests: string[] = []
  const bucket = new Bucket()
  let silence: RegExp | undefined
  const owed: (() => void)[] = []
  let refusal: { request: RegExp; answer: Answer } | undefined

  const answer = (request: IncomingMessage, body: Buffer): Answer => {
    const { pathname, searchParams } = new URL(request.url as string, 'http://x')
    const key = decodeURIComponent(pathname).replace('/blobs/', '')
    const query = [...searchParams.keys()].filter(name => name !== 'x-id').join('&')
    requests.push(`${request.method} ${key}${query && `?${query}`}`)
    const why = whyNotSigned(request, body, KEYS)
    if (why) return failed(403, why)
    if (!pathname.startsWith('/blobs/')) return failed(404, 'NoSuchBucket')
    if (refusal?.request.test(requests.at(-1) as string)) return refusal.answer
    return bucket.answer(request.method as string, key, searchParams, body)
  }

  const server = createServer(async (request, response) => {
    const body = await buffer(request).catch(() => null)
    if (!body) return
    const answered = answer(request, body)
    if (silence?.test(requests.at(-1) as string)) owed.push(() => write(response, answered))
    else write(response, answered)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `s3://AKIATEST:se%2Fcr%2Bet@blobs?endpoint=http://127.0.0.1:${port}`,
    objects: bucket.objects,
    uploads: bucket.uploads,
    requests,
    refuse: (request, status, code) => {
      refusal = { request, answer: failed(status, code) }
    },
    hang: request => {
      silence = request
    },
    speak() {
      silence = undefined
      for (const reply of owed.splice(0)) reply()
    },
  }
}

class Bucket {
  readonly objects = new Map<string, Buffer>()
  readonly uploads = new Map<string, Buffer[]>()

  answer(method: string, key: string, query: URLSearchParams, body: Buffer): Answer {
    if (method === 'POST' && query.has('uploads')) return this.#begin()
    if (query.has('uploadId')) return this.#continue(method, key, query, body)
    const object = this.objects.get(key)
    if (method === 'PUT') this.objects.set(key, body)
    else if (method === 'DELETE') this.objects.delete(key)
    else return object ? { status: 200, body: object } : failed(404, 'NoSuchKey')
    return { status: method === 'PUT' ? 200 : 204, etag: '"x"' }
  }

  #begin(): Answer {
    const id = randomUUID()
    this.uploads.set(id, [])
    return xml(200, 'InitiateMultipartUploadResult', `<UploadId>${id}</UploadId>`)
  }

  #continue(method: string, key: string, query: URLSearchParams, body: Buffer): Answer {
    const id = query.get('uploadId') as string
    const parts = this.uploads.get(id)
    if (!parts) return failed(404, 'NoSuchUpload')
    if (method === 'PUT') {
      parts[Number(query.get('partNumber')) - 1] = body
      return { status: 200, etag: `"${query.get('partNumber')}"` }
    }
    if (method === 'POST') {
      const named = Array.from(String(body).matchAll(/<ETag>(?:&quot;|")(\d+)(?:&quot;|")<\/ETag>/g), ([, tag]) => tag)
      if (named.join() !== Array.from(parts.keys(), index => index + 1).join()) return failed(400, 'InvalidPart')
      if (parts.slice(0, -1).some(part => part.length < LEAST_PART)) return failed(400, 'EntityTooSmall')
      this.objects.set(key, Buffer.concat(parts))
    }
    this.uploads.delete(id)
    return method === 'POST' ? xml(200, 'CompleteMultipartUploadResult', '<ETag>"x"</ETag>') : { status: 204 }
  }
}

function write(response: ServerResponse, { status, body = '', etag }: Answer): void {
  if (etag) response.setHeader('etag', etag)
  response.writeHead(status, { 'content-length': Buffer.byteLength(body) }).end(body)
}

function failed(status: number, code: string): Answer {
  return xml(status, 'Error', `<Code>${code}</Code><Message>It is refused</Message>`)
}

function xml(status: number, element: string, content: string): Answer {
  return { status, body: `<?xml version="1.0" encoding="UTF-8"?><${element}>${content}</${element}>` }
}
