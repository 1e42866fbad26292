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
let isGoing = false

document.addEventListener('keydown', event => {
  const { target, key, ctrlKey, altKey, metaKey } = event
  if (ctrlKey || altKey || metaKey || target.closest?.('input, textarea, select, [contenteditable]')) return
  if (isGoing && PLACES[key]) globalThis.Turbo.visit(PLACES[key])
  isGoing = key === 'g'
  if (key === '/') {
    event.preventDefault()
    document.querySelector('[data-key="/"]')?.focus()
  }
  if (key === 'j' || key === 'k') moveToRow(key === 'j' ? 1 : -1)
})

function moveToRow(step) {
  const links = [...document.querySelectorAll('tbody th a')]
  const at = links.indexOf(document.activeElement)
  links[Math.min(Math.max(at + step, 0), links.length - 1)]?.focus()
}

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
