import { html } from '#web/html.ts'

const KEYS = [
  ['/', 'search'],
  ['g e', 'emails'],
  ['g r', 'received'],
  ['g d', 'domains'],
  ['g c', 'contacts'],
  ['g w', 'webhooks'],
  ['g o', 'overview'],
  ['j, k', 'next and previous row'],
  ['Enter', 'open'],
  ['x', 'select the row'],
  ['u, Esc', 'back to the list'],
  ['r', 'reply'],
  ['n', 'new'],
  ['?', 'this list'],
] as const

/** Opens the list of keys, also after they were turned off. */
export const keysButton = html`<p><button type="button" class="link" commandfor="keys" command="show-modal">Keys</button></p>`

/** The keys of the script of the pages, and a switch that turns them off in this browser. */
export const keysDialog = html`<dialog id="keys" aria-labelledby="keys-title"><h2 id="keys-title">Keys</h2>
<dl class="keys">${KEYS.map(([key, does]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${does}</dd></div>`)}</dl>
<p class="check"><input type="checkbox" id="keys-on" checked><label for="keys-on">Use these keys in this browser</label></p>
<form method="dialog"><button>Close</button></form></dialog>`
