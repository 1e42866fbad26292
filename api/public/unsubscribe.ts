import { clientAddress } from '#api/client_address.ts'
import type { Context, Middleware } from '#api/context.ts'
import {
  type ChangedPreferences,
  changePreferences,
  type PreferenceRequest,
} from '#flows/contacts/preferences/change_preferences.ts'
import { formRequest, linkRequest } from '#flows/contacts/preferences/requests.ts'
import type { ReadTokenKeys } from '#flows/process/token_keys.ts'
import { parseUnsubscribeToken, type UnsubscribeToken } from '#lib/contacts/unsubscribe_token.ts'
import { escapeHtml } from '#lib/escape_html.ts'
import { findPreferences, type Preferences } from '#sql/contacts/preferences/preferences.ts'
import { showBadLink, showError } from './error_pages.ts'
import { languageOf, setPrivate, showPage } from './page.ts'
import { ACTIONS, type Action, preferencePage, type Result, senderOf } from './preference_page.ts'
import { readForm, textsOf } from './read_form.ts'

const PREFIX = '/u/'

/**
 * The page on which a recipient chooses which emails to get (GET), and the changes that its buttons and mail clients request
 * (POST). GET and HEAD change nothing, so mail filters may follow the link.
 */
export function unsubscribePages(readTokenKeys: ReadTokenKeys): Middleware {
  return async (ctx, next) => {
    if (!ctx.path.startsWith(PREFIX) || !['GET', 'HEAD', 'POST'].includes(ctx.method)) return next()
    try {
      const token = parseUnsubscribeToken(ctx.path.slice(PREFIX.length), await readTokenKeys())
      if (!token) showBadLink(ctx)
      else if (ctx.method === 'POST') await change(ctx, token)
      else await show(ctx, token)
    } catch (error) {
      showError(ctx, error, PREFIX)
    }
  }
}

async function show(ctx: Context, token: UnsubscribeToken): Promise<void> {
  const preferences = await findPreferences(ctx.pool, token)
  if (preferences) showPreferences(ctx, token, preferences)
  else showBadLink(ctx)
}

async function change(ctx: Context, token: UnsubscribeToken): Promise<void> {
  const form = await readForm(ctx.req)
  const action = ACTIONS.find(name => textsOf(form, 'action').includes(name))
  if (!action) return changeByOneClick(ctx, token)
  const topics = { shown: textsOf(form, 'shown'), ticked: textsOf(form, 'topic') }
  const requests: Record<Action, (before: Preferences) => PreferenceRequest> = {
    unsubscribe: () => ({ everything: 'opt_out' }),
    unsubscribe_topic: before => linkRequest(token, before, 'opt_out'),
    resubscribe: () => ({ everything: 'opt_in' }),
    resubscribe_topic: before => linkRequest(token, before, 'opt_in'),
    save: before => formRequest(topics, before),
  }
  const changed = await store(ctx, token, requests[action], 'page')
  if (changed) showPreferences(ctx, token, changed.after, { ...changed, action })
  else showBadLink(ctx)
}

/**
 * Unsubscribes with one click (RFC 8058), for any mail client or provider and with any body. If the domain no longer exists,
 * the response is 200 as well, since it sends no more email.
 */
async function changeByOneClick(ctx: Context, token: UnsubscribeToken): Promise<void> {
  await store(ctx, token, before => linkRequest(token, before, 'opt_out'), 'one_click')
  setPrivate(ctx)
  ctx.status = 200
  ctx.body = ''
}

function store(
  ctx: Context,
  token: UnsubscribeToken,
  requestOf: (before: Preferences) => PreferenceRequest,
  how: 'page' | 'one_click',
): Promise<ChangedPreferences | null> {
  const client_address = clientAddress(ctx) || null
  return changePreferences(ctx.pool, token, requestOf, { how, source_id: token.email_id, client_address })
}

function showPreferences(ctx: Context, token: UnsubscribeToken, preferences: Preferences, result?: Result): void {
  const language = languageOf(ctx)
  showPage(ctx, language, 200, {
    title: escapeHtml(senderOf(preferences)),
    body: preferencePage(language.words, token, preferences, result),
    color: preferences.brand_color,
    logo_url: preferences.brand_logo_url,
  })
}
