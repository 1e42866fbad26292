import type { Page } from 'playwright-core'

/** Returns faults of the layout of a page: short words that are broken, fields of different heights, gaps in the navigation, and a tall header. */
export function findLayoutFaults(page: Page): Promise<string[]> {
  return page.evaluate(SCRIPT)
}

const SCRIPT = String.raw`(() => {
  const faults = new Set()

  // Words in tables and buttons that continue on a second line, unless they are long or have a place for a break.
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (!node.parentElement.closest('th, td, button, a.button')) continue
    for (const { 0: word, index } of node.nodeValue.matchAll(/(?<!\S)[\w.]{1,20}(?!\S)/g)) {
      const range = document.createRange()
      range.setStart(node, index)
      range.setEnd(node, index + word.length)
      const lines = new Set(Array.from(range.getClientRects(), ({ top }) => Math.round(top)))
      if (lines.size > 1) faults.add('broken: ' + word)
    }
  }

  const filters = document.querySelectorAll('.filters input:not([type=hidden]), .filters select')
  const heights = new Set(Array.from(filters, ({ offsetHeight }) => offsetHeight))
  if (heights.size > 1) faults.add('heights of filters: ' + [...heights])

  const [list, nav] = [document.querySelector('nav ul'), document.querySelector('nav')]
  const gap = nav.getBoundingClientRect().bottom - list.getBoundingClientRect().bottom
  if (innerWidth < 768 && gap > 20) faults.add('gap below the navigation: ' + gap)

  const top = document.querySelector('main').getBoundingClientRect().top + scrollY
  if (innerWidth < 768 && top > 200) faults.add('height above the content: ' + top)
  return [...faults]
})()`
