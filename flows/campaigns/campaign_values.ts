import { LRUCache } from 'lru-cache'
import { LONGEST_LINKS, personalLink } from '#lib/templates/personal_links.ts'
import { placeholders } from '#lib/templates/placeholders.ts'
import { type Part, render } from '#lib/templates/render.ts'
import type { PendingRecipient } from '#sql/campaigns/recipients.ts'
import { findContent } from '#sql/contents/contents.ts'
import type { Tx } from '#sql/pool.ts'

/** What the emails of a campaign need of its content. `size` in bytes, without values. */
export type CampaignContent = { keys: Key[]; sizes: { html: number; text: number } }

/** `has_fallback`: the placeholder itself says what stands there without a value. */
type Key = { key: string; has_fallback: boolean }

type Contact = Pick<PendingRecipient, 'email' | 'first_name' | 'last_name' | 'properties'>

const contents = new LRUCache<string, CampaignContent>({ max: 100 })

/** Which values the content of a campaign puts in, which never change. Null: it does not exist any more. */
export async function readContent(tx: Tx, account_id: string, content_id: string): Promise<CampaignContent | null> {
  const id = `${account_id} ${content_id}`
  const known = contents.get(id)
  if (known) return known
  const source = await findContent(tx, account_id, content_id)
  if (!source) return null
  const content = {
    keys: [...keysOf(source.html ?? ''), ...keysOf(source.text ?? '')],
    sizes: { html: Buffer.byteLength(source.html ?? ''), text: Buffer.byteLength(source.text ?? '') },
  }
  contents.set(id, content)
  return content
}

/** Values of one recipient, only of what the content uses; empty where nothing is known. */
export function valuesOf(contact: Contact, { keys }: CampaignContent): Record<string, string> {
  const values: Record<string, string> = {}
  for (const { key, has_fallback } of keys) {
    const value = lookUp(contact, key)
    if (value !== undefined || !has_fallback) values[key] = value ?? ''
  }
  return values
}

export function renderSubject(subject: string, contact: Contact): string {
  const part: Part = 'subject'
  const steps = render(subject, part, (key, has_fallback) => lookUp(contact, key) ?? (has_fallback ? undefined : ''))
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

function* keysOf(source: string): Generator<Key> {
  for (const found of placeholders(source)) {
    if (!found || personalLink(found.key, LONGEST_LINKS) !== undefined) continue
    yield { key: found.key, has_fallback: found.fallback !== undefined }
  }
}

function lookUp({ email, first_name, last_name, properties }: Contact, written: string): string | undefined {
  const key = written.replace(/^contact\./, '')
  switch (key.toLowerCase()) {
    case 'email':
      return email ?? undefined
    case 'first_name':
      return first_name ?? undefined
    case 'last_name':
      return last_name ?? undefined
  }
  const name = key.replace(/^properties\./, '')
  const value = properties && Object.hasOwn(properties, name) ? properties[name] : undefined
  return value === undefined ? undefined : String(value)
}
