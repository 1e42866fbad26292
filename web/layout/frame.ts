import type { OwnAccount } from '#sql/members/members.ts'
import type { Session } from '#sql/members/sessions.ts'
import { assetUrl } from '#web/assets.ts'
import { documentHtml } from '#web/document.ts'
import { type Html, html, raw } from '#web/html.ts'
import type { PageContent, Problem } from '#web/request/visit.ts'
import { hidden, problemHtml } from './form.ts'
import { groupOf, NAVIGATION } from './navigation.ts'
import { shortcutsButton, shortcutsDialog } from './shortcuts.ts'

type FrameParts = {
  shown: PageContent
  path: string
  session: Session
  accounts: OwnAccount[]
  notice: string | null
  problem: Problem | null
  /** True if emails are captured instead of sent. */
  isCaptured: boolean
}

/** Renders a page of the dashboard with its header and navigation. */
export function frame({ shown, path, session, accounts, notice, problem, isCaptured }: FrameParts): Html {
  const { title, body, actions, isLive } = shown
  return documentOf(
    title,
    html`<a class="skip" href="#main">Skip to content</a>
<header class="top">
<a class="brand" href="/">Mailbrook</a>
${isCaptured ? html`<a class="badge captured" href="/captured">Capture mode: emails are not sent</a>` : ''}
<form class="search" role="search" action="/emails">
<label class="hidden" for="top-search">Search emails</label>
<input id="top-search" name="q" type="search" placeholder="Search emails" maxlength="200" data-key="/">
<button>Search</button>
</form>
${memberMenu(session, accounts)}
</header>
<div class="sides">
<nav aria-label="Main">
${navigation(path, isCaptured)}
</nav>
<main id="main" tabindex="-1">
<div class="heading"><h1>${title}</h1>${actions ?? ''}</div>
<div role="status" class="notice">${notice ?? ''}</div>
${problem ? problemHtml(problem) : ''}
${body}
</main>
</div>
${shortcutsDialog}`,
    isLive ? LIVE : html``,
  )
}

/** Reloads the page every few seconds. The script does so without losing the focus and the scroll position. */
const LIVE = html`<meta name="turbo-refresh-method" content="morph">
<meta name="turbo-refresh-scroll" content="preserve">
<meta name="live" content="yes">
<noscript><meta http-equiv="refresh" content="3"></noscript>`

/** Renders a page without navigation, for people who are not signed in. */
export function plainPage(title: string, body: Html): Html {
  return documentOf(title, plainMain(title, body))
}

/**
 * Renders a page about an error. Turbo runs the scripts of such a page, which run already, and those of a page that it loads
 * from there: it has none, and is left without Turbo.
 */
export function failurePage(title: string, body: Html): Html {
  const main = html`<div data-turbo="false">${plainMain(title, body)}</div>`
  return documentHtml({ title: `${title} - Mailbrook`, style_url: assetUrl('dashboard.css'), body: main })
}

function plainMain(title: string, body: Html): Html {
  return html`<main id="main" class="plain"><h1>${title}</h1>${body}</main>`
}

function documentOf(title: string, body: Html, head = html``): Html {
  return documentHtml({
    title: `${title} - Mailbrook`,
    style_url: assetUrl('dashboard.css'),
    head: html`<meta name="turbo-cache-control" content="no-cache">
<script src="${assetUrl('turbo.js')}" defer></script>
<script src="${assetUrl('dashboard.js')}" defer></script>
<script src="${assetUrl('shortcuts.js')}" defer></script>
<script src="${assetUrl('editor.js')}" defer></script>
${head}`,
    body,
  })
}

function navigation(path: string, isCaptured: boolean): Html {
  const current = groupOf(path)
  return html`<ul>
${NAVIGATION.filter(({ isCaptureOnly }) => isCaptured || !isCaptureOnly).map(
  ({ path: entry, name }) =>
    html`<li><a href="${entry}"${raw(entry === current ? ' aria-current="page"' : '')}>${name}</a></li>`,
)}
</ul>`
}

function memberMenu({ email, account_id, account_name, role, is_operator }: Session, accounts: OwnAccount[]): Html {
  const others = accounts.filter(({ id }) => id !== account_id)
  return html`<details class="menu">
<summary>${account_name}</summary>
<p>${email}<br>${role.replace('_', '-')}</p>
${others.map(
  ({ id, name }) =>
    html`<form method="post" action="/account">${hidden('account_id', id)}<button class="link">Switch to ${name}</button></form>`,
)}
<p><a href="/profile">Your profile</a></p>
${is_operator ? html`<p><a href="/operator">Operator</a></p>` : ''}
<p><a href="/docs">Docs</a></p>
${shortcutsButton}
<form method="post" action="/logout" data-turbo="false"><button class="link">Sign out</button></form>
</details>`
}
