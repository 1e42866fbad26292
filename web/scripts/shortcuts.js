// Keyboard shortcuts of the dashboard, which members can switch off.

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
