import { readFile } from 'node:fs/promises'
import { createContext, SourceTextModule } from 'node:vm'

// Runs the client in a context with Web APIs and without those of Node, such as `process` and `Buffer`; prints the email
// that it sent. It is a separate process because modules in contexts require --experimental-vm-modules.

const [entry, baseUrl, apiKey, from] = process.argv.slice(2)
const WEB = { AbortController, AbortSignal, atob, Blob, btoa, clearTimeout, crypto, fetch, FormData, Headers }
const context = createContext({ ...WEB, Response, setTimeout, TextDecoder, TextEncoder, URL, URLSearchParams })
const modules = new Map<string, SourceTextModule>()

async function load(url: string): Promise<SourceTextModule> {
  const known = modules.get(url)
  if (known) return known
  const text = await readFile(new URL(url), 'utf8')
  const module = new SourceTextModule(text, { context, identifier: url })
  modules.set(url, module)
  return module
}

const module = await load(`file://${entry}`)
await module.link((specifier, { identifier }) => load(new URL(specifier, identifier).href))
await module.evaluate()

const { Mailbrook } = module.namespace as typeof import('#client/source/index.ts')
const client = new Mailbrook({ apiKey: apiKey as string, baseUrl: baseUrl as string })
const file = { filename: 'a.txt', content: new TextEncoder().encode('x') }
const { id } = await client.emails.send({
  from: from as string,
  to: 'b@b.com',
  subject: 'Worker',
  text: 'x',
  attachments: [file],
})
console.log(JSON.stringify(await client.emails.get(id)))
