import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { type Dispatcher, request as send } from 'undici'
import { createApp } from '#api/app.ts'
import { createHttpServer } from '#api/server.ts'
import { type Foundation, layFoundation } from '#flows/process/run_process.ts'
import type { Pool } from '#sql/pool.ts'
import { type PgProxy, startPgProxy } from '#test/faults/support/pg_proxy.ts'
import { checkAnswers } from '#test/support/http/check_answers.ts'
import { createSite } from '#web/site.ts'

/** `body` is the response of the API, with the fields that tests use most; `t.match` and `shows` see all others. */
export type AnswerBody = { id: string; name: string; message: string; status: string; data: AnswerBody[] }
export type Answer = { status: number; headers: Headers; text: string; body: AnswerBody }

export type Api = {
  url: string
  /** Sends and parses JSON. `key: null` sends no API key. */
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>
}

export type RequestOptions = {
  key?: string | null
  body?: unknown
  headers?: Record<string, string>
  raw?: string | Buffer
}

/** Starts the real API on a real socket. */
export async function startApi(t: Pick<Test, 'teardown'>, foundation: Foundation, default_key: string): Promise<Api> {
  const app = createApp(foundation, createSite(foundation))
  const check = checkAnswers(app)
  const server = createHttpServer(app)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    await new Promise<void>(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
    await app.close()
    check()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return openApi(url, default_key)
}

/** An API that is already running. */
export function openApi(url: string, default_key: string): Api {
  return { url, request: (method, path, options) => request(url, default_key, method, path, options) }
}

/** Starts an API whose connection to Postgres can be cut and delayed. */
export async function startProxiedApi(
  t: Test,
  { config, log }: Foundation,
  default_key: string,
): Promise<{ api: Api; proxy: PgProxy; pool: Pool }> {
  const proxy = await startPgProxy(config.DATABASE_URL as string)
  const proxied = await layFoundation({ ...config, DATABASE_URL: proxy.url }, log)
  const api = await startApi(t, proxied, default_key)
  t.teardown(async () => {
    await proxied.pool.end()
    await proxy.close()
  })
  return { api, proxy, pool: proxied.pool }
}

async function request(
  url: string,
  default_key: string,
  method: string,
  path: string,
  { key = default_key, body, headers = {}, raw }: RequestOptions = {},
): Promise<Answer> {
  // Takes a third of the CPU time of fetch.
  const response = await send(url + path, {
    method: method as Dispatcher.HttpMethod,
    headers: {
      'user-agent': 'test',
      'content-type': 'application/json',
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
    body: raw ?? (body === undefined ? null : JSON.stringify(body)),
  })
  const text = await response.body.text()
  const given = headersOf(response)
  return { status: response.statusCode, headers: given, text, body: parsed(given, text) }
}

function headersOf({ headers }: Dispatcher.ResponseData): Headers {
  const given = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    for (const one of [value ?? []].flat()) given.append(name, one)
  }
  return given
}

/** Null if the text is not JSON. */
function parsed(headers: Headers, text: string): AnswerBody {
  return JSON.parse((headers.get('content-type')?.includes('json') && text) || 'null')
}
