import type { Context, Middleware } from '#api/context.ts'
import { answerPoll } from '#flows/polls/answer_poll.ts'
import type { ReadTokenKeys } from '#flows/process/token_keys.ts'
import { escapeHtml } from '#lib/escape_html.ts'
import { parseRecipientToken, type TrackedRecipient } from '#lib/tracking/tracking_tokens.ts'
import { type AskedPoll, findAskedPoll } from '#sql/polls/asked_polls.ts'
import { showBadLink, showError } from './error_pages.ts'
import { languageOf, showPage } from './page.ts'
import { pollPage } from './poll_page.ts'
import { readForm, textsOf } from './read_form.ts'

const PREFIX = '/p/'
/** The token of the recipient and the key of an option. */
const PATH = /^\/p\/([\w-]+)\/([\w-]{1,80})$/

/**
 * The page on which a recipient answers a poll. GET shows it with the option of the link selected; POST stores the answer. GET
 * and HEAD change nothing, so mail filters may follow the links.
 */
export function pollPages(readTokenKeys: ReadTokenKeys): Middleware {
  return async (ctx, next) => {
    if (!ctx.path.startsWith(PREFIX) || !['GET', 'HEAD', 'POST'].includes(ctx.method)) return next()
    try {
      const [, token, linked] = PATH.exec(ctx.path) ?? []
      const recipient = token === undefined ? null : parseRecipientToken(token, 'poll', await readTokenKeys())
      if (!recipient || linked === undefined) showBadLink(ctx)
      else if (ctx.method === 'POST') await answer(ctx, recipient, linked)
      else await show(ctx, recipient, linked)
    } catch (error) {
      showError(ctx, error, PREFIX)
    }
  }
}

async function show(ctx: Context, recipient: TrackedRecipient, linked: string): Promise<void> {
  const asked = await findAskedPoll(ctx.pool, recipient)
  if (asked && hasOption(asked, linked)) showPoll(ctx, 200, asked, linked)
  else showBadLink(ctx)
}

/** Stores an answer. A POST without the answer, such as one from a program, shows the page again. */
async function answer(ctx: Context, recipient: TrackedRecipient, linked: string): Promise<void> {
  const [chosen, ...others] = textsOf(await readForm(ctx.req), 'answer')
  const asked = await findAskedPoll(ctx.pool, recipient)
  if (!asked || !hasOption(asked, linked)) return showBadLink(ctx)
  if (chosen === undefined || others.length > 0 || !hasOption(asked, chosen)) return showPoll(ctx, 400, asked, linked)
  const answered = await answerPoll(ctx.pool, recipient, asked, chosen)
  if (answered) showPoll(ctx, 200, answered.poll, answered.poll.answer ?? chosen, answered.is_limited)
  else showBadLink(ctx)
}

function hasOption({ options }: AskedPoll, key: string): boolean {
  return options.some(option => option.key === key)
}

function showPoll(ctx: Context, status: 200 | 400, asked: AskedPoll, chosen: string, is_limited = false): void {
  const language = languageOf(ctx)
  showPage(ctx, language, status, {
    title: escapeHtml(asked.question),
    body: pollPage(language.words, asked, { chosen, is_limited }),
    color: asked.brand_color,
    logo_url: asked.brand_logo_url,
  })
}
