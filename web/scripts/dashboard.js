// Conveniences of the pages. Each page works without this script.

document.addEventListener('turbo:load', () => {
  for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false
  for (const time of document.querySelectorAll('time[datetime]')) time.title = new Date(time.dateTime).toLocaleString()
  document.getElementById('problem')?.focus()
  if (globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON) {
    for (const form of document.querySelectorAll('[data-passkey]')) form.hidden = false
  }
})

const LIVE_MS = 2_000
let refresh

document.addEventListener('turbo:load', () => {
  clearTimeout(refresh)
  if (!document.querySelector('meta[name=live]')) return
  refresh = setTimeout(() => globalThis.Turbo.visit(location.href, { action: 'replace' }), LIVE_MS)
})

// What the reader has opened stays open.
document.addEventListener('turbo:before-morph-attribute', event => {
  if (event.detail.attributeName === 'open') event.preventDefault()
})

document.addEventListener('turbo:before-visit', () => clearTimeout(refresh))

document.addEventListener('turbo:render', () => document.getElementById('problem')?.focus())

document.addEventListener('click', async ({ target }) => {
  const button = target.closest?.('[data-copy]')
  if (!button) return
  await navigator.clipboard.writeText(button.dataset.copy)
  const status = document.querySelector('.notice')
  if (status) status.textContent = 'Copied.'
})

const TYPING_MS = 400
let typing

// A new frame each time: a preview is no step of the history.
document.addEventListener('input', ({ target }) => {
  const button = target.form?.querySelector('[data-preview]')
  if (!button) return
  clearTimeout(typing)
  typing = setTimeout(() => {
    const frame = document.querySelector(`iframe[name="${button.formTarget}"]`)
    if (!frame) return
    const fresh = frame.cloneNode()
    fresh.removeAttribute('src')
    frame.replaceWith(fresh)
    target.form.requestSubmit(button)
  }, TYPING_MS)
})

const PLACES = { e: '/emails', r: '/received', d: '/domains', c: '/contacts', o: '/', w: '/webhooks' }
const KEYS_OFF = 'keys-off'
const FIELD = 'input:not([type=hidden]), select, textarea'
let isGoing = false

document.addEventListener('keydown', event => {
  const { target, key, ctrlKey, altKey, metaKey } = event
  if (ctrlKey || altKey || metaKey || target.closest?.('input, textarea, select, [contenteditable], dialog')) return
  if (localStorage.getItem(KEYS_OFF)) return
  const place = isGoing ? PLACES[key] : undefined
  isGoing = key === 'g'
  if (place) return globalThis.Turbo.visit(place)
  const does = KEYS[key]
  if (!does) return
  does()
  // Else the key is typed into the field that it leads to.
  event.preventDefault()
})

const KEYS = {
  '/': () => document.querySelector('[data-key="/"]')?.focus(),
  j: () => moveToRow(1),
  k: () => moveToRow(-1),
  x: () => document.activeElement.closest('tr')?.querySelector('input[type=checkbox]')?.click(),
  u: goBack,
  Escape: goBack,
  r: () => document.querySelector('[data-key=r] textarea')?.focus(),
  n: () => document.querySelector('[data-key=n]')?.querySelector(FIELD)?.focus(),
  '?': () => document.getElementById('keys')?.showModal(),
}

function moveToRow(step) {
  const links = [...document.querySelectorAll('tbody th a')]
  const at = links.indexOf(document.activeElement)
  links[Math.min(Math.max(at + step, 0), links.length - 1)]?.focus()
}

/** Queries of the lists that were read last, by their paths. */
const queries = {}
const currentList = () => document.querySelector('nav [aria-current=page]')?.pathname

document.addEventListener('turbo:load', () => {
  const { pathname, search } = location
  if (pathname === currentList()) queries[pathname] = search
  const isOn = document.getElementById('keys-on')
  if (isOn) isOn.checked = !localStorage.getItem(KEYS_OFF)
})

/** To the list that a record is of, as it was filtered. */
function goBack() {
  const list = currentList()
  if (list && list !== location.pathname) globalThis.Turbo.visit(list + (queries[list] ?? ''))
}

document.addEventListener('change', ({ target }) => {
  if (target.id !== 'keys-on') return
  if (target.checked) localStorage.removeItem(KEYS_OFF)
  else localStorage.setItem(KEYS_OFF, 'yes')
})

// Before Turbo sends such a form, the browser is asked for a passkey.
document.addEventListener(
  'submit',
  event => {
    const form = event.target
    if (!form.dataset.passkey || form.credential.value) return
    event.preventDefault()
    event.stopImmediatePropagation()
    askForPasskey(form)
  },
  true,
)

async function askForPasskey(form) {
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
    status.textContent = `No passkey was used: ${error.message}`
  }
}
