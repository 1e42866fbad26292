// Optional enhancements: every page works without this script.

document.addEventListener('turbo:load', () => {
  // Browsers have no clipboard on pages that arrive over plain http, except from this machine.
  if (navigator.clipboard) for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false
  for (const time of document.querySelectorAll('time[datetime]')) time.title = new Date(time.dateTime).toLocaleString()
  document.getElementById('problem')?.focus()
  if (globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON) {
    for (const form of document.querySelectorAll('[data-passkey]')) form.hidden = false
  }
})

const LIVE_MS = 2_000
let refreshTimer

document.addEventListener('turbo:load', () => {
  clearTimeout(refreshTimer)
  if (!document.querySelector('meta[name=live]')) return
  refreshTimer = setTimeout(() => globalThis.Turbo.visit(location.href, { action: 'replace' }), LIVE_MS)
})

// Keeps opened <details> open when the page reloads itself.
document.addEventListener('turbo:before-morph-attribute', event => {
  if (event.detail.attributeName === 'open') event.preventDefault()
})

// Leaves links within the page to the browser: Turbo would load the page again, without what was typed into its forms.
document.addEventListener('turbo:click', event => {
  if (event.target.getAttribute('href').startsWith('#')) event.preventDefault()
})

// Leaves error pages to the browser: Turbo would run the scripts again.
document.addEventListener('turbo:before-fetch-response', event => {
  const { succeeded, response } = event.detail.fetchResponse
  if (succeeded || event.target !== document.documentElement) return
  event.preventDefault()
  location.assign(response.url)
})

document.addEventListener('turbo:before-visit', () => clearTimeout(refreshTimer))

document.addEventListener('turbo:render', () => document.getElementById('problem')?.focus())

// Turbo says nothing if a form could not be sent, or if the response did not arrive.
document.addEventListener('turbo:fetch-request-error', ({ target }) => {
  if (!(target instanceof HTMLFormElement)) return
  const message = document.createElement('p')
  message.setAttribute('role', 'alert')
  message.className = 'unsent'
  message.textContent = 'The server did not respond. Check your connection, and try again.'
  target.append(message)
})

document.addEventListener('turbo:submit-start', ({ target }) => {
  for (const message of target.querySelectorAll('.unsent')) message.remove()
})

document.addEventListener('click', async ({ target }) => {
  const button = target.closest?.('[data-copy]')
  if (!button) return
  await navigator.clipboard.writeText(button.dataset.copy)
  const status = document.querySelector('.notice')
  if (status) status.textContent = 'Copied.'
})

const PLACES = { e: '/emails', r: '/received', d: '/domains', c: '/contacts', o: '/', w: '/webhooks' }
const SHORTCUTS_OFF = 'keys-off'
const FIELD = 'input:not([type=hidden]), select, textarea'
let isAfterG = false

document.addEventListener('keydown', event => {
  const { target, key, ctrlKey, altKey, metaKey } = event
  if (ctrlKey || altKey || metaKey || target.closest?.('input, textarea, select, [contenteditable], dialog')) return
  if (localStorage.getItem(SHORTCUTS_OFF)) return
  const place = isAfterG ? PLACES[key] : undefined
  isAfterG = key === 'g'
  if (place) return globalThis.Turbo.visit(place)
  const run = SHORTCUTS[key]
  if (!run) return
  run()
  // Otherwise the key would be typed into the field that it focuses.
  event.preventDefault()
})

const SHORTCUTS = {
  '/': () => document.querySelector('[data-key="/"]')?.focus(),
  j: () => moveToRow(1),
  k: () => moveToRow(-1),
  x: () => document.activeElement.closest('tr')?.querySelector('input[type=checkbox]')?.click(),
  u: goBack,
  Escape: goBack,
  r: () => document.querySelector('[data-key=r] textarea')?.focus(),
  n: () => document.querySelector('[data-key=n]')?.querySelector(FIELD)?.focus(),
  '?': () => document.getElementById('shortcuts')?.showModal(),
}

function moveToRow(step) {
  const links = [...document.querySelectorAll('tbody th a')]
  const at = links.indexOf(document.activeElement)
  links[Math.min(Math.max(at + step, 0), links.length - 1)]?.focus()
}

/** The last query of each list, by path, so that going back keeps the filters. */
const queries = {}
const currentList = () => document.querySelector('nav [aria-current=page]')?.pathname

document.addEventListener('turbo:load', () => {
  const { pathname, search } = location
  if (pathname === currentList()) queries[pathname] = search
  const checkbox = document.getElementById('shortcuts-on')
  if (checkbox) checkbox.checked = !localStorage.getItem(SHORTCUTS_OFF)
})

/** Opens the list of the current record, with its last filters. */
function goBack() {
  const list = currentList()
  if (list && list !== location.pathname) globalThis.Turbo.visit(list + (queries[list] ?? ''))
}

document.addEventListener('change', ({ target }) => {
  if (target.id !== 'shortcuts-on') return
  if (target.checked) localStorage.removeItem(SHORTCUTS_OFF)
  else localStorage.setItem(SHORTCUTS_OFF, 'yes')
})

// Requests a passkey before Turbo submits the form. Listens in the capture phase, to run before Turbo.
document.addEventListener(
  'submit',
  event => {
    const form = event.target
    if (!form.dataset.passkey || form.credential.value) return
    event.preventDefault()
    event.stopImmediatePropagation()
    requestPasskey(form)
  },
  true,
)

async function requestPasskey(form) {
  const status = form.querySelector('[role=status]')
  status.textContent = ''
  try {
    const options = await (await fetch(form.dataset.options)).json()
    const credential =
      form.dataset.passkey === 'create'
        ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
        : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) })
    form.credential.value = JSON.stringify(credential)
    form.requestSubmit()
  } catch (error) {
    status.textContent = `The passkey could not be used: ${error.message}`
  }
}
