import { html } from '#web/html.ts'
import { page, type Room } from '#web/request/visit.ts'

const overview = page('/', async () => ({ title: 'Overview', body: html`<p>Welcome.</p>` }))

export const overviewRoom: Room = { pages: [overview], actions: [] }
