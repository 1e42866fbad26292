import { html } from '#web/html.ts'

const SHORTCUTS = [
  ['/', 'Search'],
  ['g e', 'Emails'],
  ['g r', 'Received'],
  ['g d', 'Domains'],
  ['g c', 'Contacts'],
  ['g w', 'Webhooks'],
  ['g o', 'Overview'],
  ['j, k', 'Next or previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row'],
  ['u, Esc', 'Back to the list'],
  ['r', 'Reply'],
  ['n', 'New record'],
  ['?', 'Show this list'],
] as const

/** Opens the list of shortcuts, even if they are turned off. */
export const shortcutsButton = html`<p><button type="button" class="link" commandfor="shortcuts" command="show-modal">Keyboard shortcuts</button></p>`

/** The shortcuts of the script, and a checkbox that turns them off in this browser. */
export const shortcutsDialog = html`<dialog id="shortcuts" aria-labelledby="shortcuts-title"><h2 id="shortcuts-title">Keyboard shortcuts</h2>
<dl class="shortcuts">${SHORTCUTS.map(([key, action]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${action}</dd></div>`)}</dl>
<p class="check"><input type="checkbox" id="shortcuts-on" checked><label for="shortcuts-on">Enable keyboard shortcuts in this browser</label></p>
<form method="dialog"><button>Close</button></form></dialog>`
