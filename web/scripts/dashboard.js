// Optional enhancements: every page works without this script.

document.addEventListener('turbo:load', () => {
  // Browsers have no clipboard on pages that arrive over plain http, except from this machine.
  if (navigator.clipboard) for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false
  for (const time of document.querySelectorAll('time[datetime]')) time.title = new Date(time.dateTime).toLocaleString()
  // On phones, the navigation is one line that scrolls.
  const current = document.querySelector('nav [aria-current]')
  const list = current?.closest('ul')
  if (list?.scrollLeft === 0) list.scrollLeft = current.offsetLeft - list.clientWidth / 2
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
