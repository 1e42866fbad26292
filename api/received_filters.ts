import { z } from 'zod'
import type { ReceivedEmailFilters } from '#sql/receiving/received_email_filters.ts'
import type { Context } from './context.ts'
import { parseDomain, parseMailbox, parseText, parseUuid } from './email_filters.ts'
import { invalid, single } from './parse.ts'

const Category = z.enum(['interested', 'neutral', 'not_interested', 'none'])

/** The filters of GET /emails/receiving (contract 4.1). */
export function parseReceivedFilters(ctx: Context): ReceivedEmailFilters {
  const campaign_id = parseUuid(ctx, 'campaign_id') // there are none yet
  return {
    domain: parseDomain(ctx),
    from: parseMailbox(ctx, 'from'),
    to: parseMailbox(ctx, 'to'),
    q: parseText(ctx, ['q']),
    read: parseRead(ctx),
    category: parseCategory(ctx),
    isNone: campaign_id !== undefined,
  }
}

function parseRead(ctx: Context): boolean | undefined {
  const text = single(ctx, 'read')
  if (text === undefined) return undefined
  if (text !== 'true' && text !== 'false') throw invalid('`read` must be `true` or `false`.')
  return text === 'true'
}

function parseCategory(ctx: Context): ReceivedEmailFilters['category'] {
  const text = single(ctx, 'category')
  if (text === undefined) return undefined
  const { success, data } = Category.safeParse(text)
  if (!success) throw invalid(`\`category\` must be one of ${Category.options.join(', ')}.`)
  return data
}
