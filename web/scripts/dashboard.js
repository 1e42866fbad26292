// Conveniences of the pages. Each page works without this script.

document.addEventListener('turbo:load', () => {
  for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false
  for (const time of document.querySelectorAll('time[datetime]')) time.title = new Date(time.dateTime).toLocaleString()
  document.getElementById('problem')?.focus()
})

document.addEventListener('turbo:render', () => document.getElementById('problem')?.focus())

document.addEventListener('click', async ({ target }) => {
  const button = target.closest?.('[data-copy]')
  if (!button) return
  await navigator.clipboard.writeText(button.dataset.copy)
  const status = document.querySelector('.notice')
  if (status) status.textContent = 'Copied.'
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
